// A part of a page with a heading, and the small pieces that stand in it.
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

export function Panel({
  title,
  note,
  actions,
  flush = false,
  children,
}: {
  readonly title: string;
  /** Said quietly beside the heading: how many, since when. */
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** The content reaches the edges: tables. */
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section class={flush ? 'panel flush' : 'panel'} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note === undefined ? null : <span class="note">{note}</span>}
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
      <div class="body">{children}</div>
    </section>
  );
}

/** One figure with its name, what it is made of, and a line of the last hour. */
export function Figure({
  name,
  value,
  unit,
  detail,
  title,
  href,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly unit?: string;
  readonly detail?: ComponentChildren;
  readonly title?: string;
  readonly href?: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const inner = (
    <>
      <span class="name">{name}</span>
      <span class="value" title={title}>
        {value}
        {unit === undefined ? null : <span class="unit"> {unit}</span>}
      </span>
      <span class="detail">{detail}</span>
      {children}
    </>
  );
  return href === undefined ? (
    <div class="figure">{inner}</div>
  ) : (
    <a class="figure" href={href}>
      {inner}
    </a>
  );
}

/** Names and values under each other. */
export function Facts({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren] | null)[];
}): JSX.Element {
  return (
    <dl class="facts">
      {rows.map((row) =>
        row === null ? null : (
          <div key={row[0]}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Text of a machine, as it is: with a scroll bar of its own, and selectable as a whole. */
export function Code({ children, label }: { children: string; label: string }): JSX.Element {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolled by keys
    <pre class="code" tabIndex={0} role="region" aria-label={label}>
      <code>{children}</code>
    </pre>
  );
}
