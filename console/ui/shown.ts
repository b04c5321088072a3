// Text as it is shown. Names come from clients: a character that nobody sees, or that turns the order of others, would let
// one id read as another. So each is shown by its number, in every text and tooltip of the page: here, for all of them at
// once. What is typed, copied, linked to and sent is as it was. Names that read from right to left are set apart by base.css.
import { Fragment, options, type VNode } from 'preact';

/** What Unicode calls controls and formats; but not the joiners that scripts and emoji need, and what makes lines. */
const UNSEEN = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** With U+202E as ⟨U+202E⟩. */
export function shown(text: string): string {
  return text.replaceAll(UNSEEN, (one) => {
    const number = one.codePointAt(0) ?? 0;
    return `⟨U+${number.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

const ATTRIBUTES = ['title', 'aria-label', 'placeholder'];

function shownOf(value: unknown): unknown {
  if (typeof value === 'string') return shown(value);
  return Array.isArray(value) ? value.map(shownOf) : value;
}

/** From here on every element is made so. */
export function showUnseen(): void {
  const others = { ...options };
  options.vnode = (vnode: VNode): void => {
    const { type, props } = vnode;
    if (typeof type === 'string' || type === Fragment) {
      const given: Record<string, unknown> = props;
      if (given['children'] !== undefined) given['children'] = shownOf(given['children']);
      for (const name of ATTRIBUTES) if (given[name] !== undefined) given[name] = shownOf(given[name]);
    }
    others.vnode?.(vnode);
  };
}
