// Keys of the whole page. Single letters are off while somebody types, behind an open window, and altogether if switched off.
import { tinykeys } from 'tinykeys';
import { refreshAll } from '../api/resource.ts';
import { isHeld } from '../base/leaving.ts';
import { hrefOf, visit } from '../base/router.ts';
import { nextTheme } from '../base/theme.ts';
import { isTyping } from '../base/typing.ts';
import { zone } from '../format/time.ts';
import { helpIsOpen } from './help.tsx';
import { openPalette } from './palette.tsx';
import { isRunning } from './session.ts';
import { visiblePages } from './visible.ts';
import { keysAreOn } from './keys-on.ts';
import { PAGES } from './pages.ts';

export function listenToKeys(): void {
  const single = (act: () => void) => (event: KeyboardEvent) => {
    if (keysAreOn.value === 'off' || !isRunning()) return;
    if (isTyping(event) || document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    act();
  };
  const go = Object.entries(PAGES).map(([name, { key }]): [string, (event: KeyboardEvent) => void] => [
    `g ${key}`,
    single(() => {
      if (visiblePages.peek().some((one) => one.name === name)) visit(hrefOf(name));
    }),
  ]);
  tinykeys(window, {
    '$mod+k': (event) => {
      if (!isRunning()) return;
      event.preventDefault();
      if (!isHeld()) openPalette();
    },
    '?': single(() => {
      helpIsOpen.value = true;
    }),
    'Shift+?': single(() => {
      helpIsOpen.value = true;
    }),
    '/': single(() => {
      const filter = document.querySelector<HTMLInputElement>('[data-filter]');
      if (filter === null) openPalette();
      else filter.focus();
    }),
    r: single(() => void refreshAll('')),
    u: single(() => {
      zone.value = zone.value === 'utc' ? 'local' : 'utc';
    }),
    t: single(nextTheme),
    ...Object.fromEntries(go),
  });
}
