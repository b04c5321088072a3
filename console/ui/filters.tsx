// Filters above a list. They live in the address: a link to a page is a link to what it shows, and Back undoes one.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefWith, param, setParams, type Params } from '../base/router.ts';
import { t } from '../text/index.ts';
import { Icon } from './icon.tsx';
import type { Choice } from './field.tsx';

const TYPED_MS = 250;
/** Another question has another list: it is shown from its beginning. */
const FROM_START: Params = { page: null, before: null };

/** A text filter; the address follows a moment after the last key. `/` goes to the first of a page. */
export function SearchFilter({
  name = 'q',
  label,
  placeholder,
  mono = false,
}: {
  /** The member of the address. */
  readonly name?: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly mono?: boolean;
}): JSX.Element {
  const inAddress = param(name);
  const [typed, setTyped] = useState(inAddress);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // A blank at the end is not in the address, and belongs to what is typed next.
  useEffect(() => setTyped((now) => (now.trim() === inAddress ? now : inAddress)), [inAddress]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const ask = (value: string, options = {}): void => {
    if (value.trim() !== param(name)) setParams({ ...FROM_START, [name]: value.trim() }, options);
  };
  return (
    <label class="search-filter">
      <Icon name="search" size={14} />
      <span class="hidden">{label}</span>
      <input
        type="search"
        data-filter
        class={mono ? 'mono' : ''}
        value={typed}
        placeholder={placeholder ?? label}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          const { value } = event.currentTarget;
          setTyped(value);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => ask(value, { replace: true }), TYPED_MS);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          clearTimeout(timer.current);
          ask(event.currentTarget.value);
        }}
      />
    </label>
  );
}

/** One of some values; '' in `choices` is "all" and leaves the address. */
export function SelectFilter({
  name,
  label,
  choices,
}: {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly Choice[];
}): JSX.Element {
  const value = param(name);
  const known = choices.some((one) => one.value === value) ? choices : [...choices, { value, label: value }];
  return (
    <label class={value === '' ? 'select-filter' : 'select-filter on'}>
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => setParams({ ...FROM_START, [name]: event.currentTarget.value })}
      >
        {known.map((one) => (
          <option key={one.value} value={one.value} selected={one.value === value}>
            {one.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What the list is narrowed to, each with a way to drop it. */
export function Chips({ names }: { names: Readonly<Record<string, string>> }): JSX.Element | null {
  const set = Object.entries(names).flatMap(([name, label]) => {
    const value = param(name);
    return value === '' ? [] : [{ name, label, value }];
  });
  if (set.length === 0) return null;
  const none = Object.fromEntries(set.map(({ name }) => [name, null]));
  return (
    <div class="chips">
      {set.map(({ name, label, value }) => (
        <a
          key={name}
          class="chip"
          href={hrefWith({ ...FROM_START, [name]: null })}
          aria-label={t().common.dropFilter(label, value)}
        >
          <span class="name">{label}</span> <span class="value">{value}</span>
          <Icon name="close" size={12} />
        </a>
      ))}
      {set.length > 1 ? (
        <a class="chip clear" href={hrefWith({ ...FROM_START, ...none })}>
          {t().common.clearFilters}
        </a>
      ) : null}
    </div>
  );
}

export function FilterBar({ children }: { children: ComponentChildren }): JSX.Element {
  return <div class="filters">{children}</div>;
}

/** A few ways to look at the same, one at a time, in the address. */
export function Tabs({
  name,
  label,
  tabs,
}: {
  readonly name: string;
  readonly label: string;
  /** The first is the one without a word in the address. */
  readonly tabs: readonly (Choice & { readonly count?: string })[];
}): JSX.Element {
  const value = param(name);
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((one, index) => {
        const isOn = one.value === value || (value === '' && index === 0);
        return (
          <a
            key={one.value}
            href={hrefWith({ ...FROM_START, [name]: index === 0 ? null : one.value })}
            aria-current={isOn ? 'page' : undefined}
          >
            {one.label}
            {one.count === undefined ? null : <span class="count">{one.count}</span>}
          </a>
        );
      })}
    </nav>
  );
}
