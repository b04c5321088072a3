// Ctrl+K: a page, a model or an id by its name. A combobox after the ARIA pattern: the focus stays in the field.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { get } from '../api/client.ts';
import type { Chain } from '../api/types.ts';
import { hrefOf, visit } from '../base/router.ts';
import { nextTheme } from '../base/theme.ts';
import { t } from '../text/index.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { isPage } from './pages.ts';
import { may, session, signOut } from './session.ts';
import { visiblePages } from './visible.ts';

export const PALETTE_KEY = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K';

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

/** The names of the models; none where nobody may know them, or until they are there: pages are found all the same. */
function useModels(): readonly string[] {
  const [models, setModels] = useState<readonly string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      const { deployments } = await get<Chain>('chain', abort.signal);
      setModels([...new Set(deployments.map(({ model_name }) => model_name))].sort());
    };
    if (may('chain')) read().catch(() => undefined);
    return () => abort.abort();
  }, []);
  return models;
}

interface Entry {
  readonly key: string;
  readonly name: string;
  readonly detail: string;
  readonly icon: IconName;
  readonly act: () => void;
}

const MOST = 12;

export function Palette(): JSX.Element | null {
  useEffect(() => close, []); // whoever signs in next has not opened it
  if (!isOpen.value) return null;
  return (
    <Dialog title={t().shell.palette} onClose={close}>
      <Choice />
    </Dialog>
  );
}

function close(): void {
  isOpen.value = false;
}

function Choice(): JSX.Element {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const found = entriesFor(typed, useModels());
  const current = Math.min(at, found.length - 1);
  const take = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    close();
    entry.act();
  };
  return (
    <div class="palette">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${current}`}
        aria-label={t().shell.paletteHint}
        placeholder={t().shell.paletteHint}
        autocomplete="off"
        spellcheck={false}
        autoFocus
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined && found.length > 0) {
            event.preventDefault();
            setAt((current + step + found.length) % found.length);
          }
          if (event.key === 'Enter') take(found[current]);
        }}
      />
      <div role="listbox" id={id} aria-label={t().shell.palette}>
        {found.map((entry, index) => (
          <div
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => take(entry)}
            onKeyDown={() => undefined}
            onMouseMove={() => setAt(index)}
          >
            <Icon name={entry.icon} />
            <span class="name">{entry.name}</span>
            <span class="detail">{entry.detail}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function entriesFor(typed: string, models: readonly string[]): readonly Entry[] {
  const texts = t().shell;
  const query = typed.trim().toLowerCase();
  const pages = visiblePages.value.map(({ name, page }): Entry => ({
    key: `page ${name}`,
    name: t().pages[name].name,
    detail: t().pages[name].question,
    icon: page.icon,
    act: () => visit(hrefOf(name)),
  }));
  const known = isPage('models')
    ? models.map((model): Entry => ({
        key: `model ${model}`,
        name: model,
        detail: texts.paletteModels,
        icon: 'box',
        act: () => visit(hrefOf('models', { q: model })),
      }))
    : [];
  const steps: readonly Entry[] = [
    { key: 'theme', name: t().keys.list.theme, detail: texts.paletteActions, icon: 'moon', act: nextTheme },
    ...(session.value.is === 'in' && session.value.who.kind !== 'open'
      ? [
          {
            key: 'signout',
            name: texts.signOut,
            detail: texts.paletteActions,
            icon: 'signout',
            act: () => void signOut(),
          } as const,
        ]
      : []),
  ];
  const fits = ({ name, detail }: Entry): boolean => `${name} ${detail}`.toLowerCase().includes(query);
  const found = [...pages, ...(query === '' ? [] : known), ...steps].filter(fits);
  const byName = found.toSorted(
    (a, b) => Number(b.name.toLowerCase().startsWith(query)) - Number(a.name.toLowerCase().startsWith(query)),
  );
  const call: readonly Entry[] =
    /^[\w-]{8,}$/.test(query) && isPage('calls')
      ? [
          {
            key: 'call',
            name: texts.findCall(typed.trim()),
            detail: '',
            icon: 'search',
            act: () => visit(hrefOf('calls', { id: typed.trim() })),
          },
        ]
      : [];
  return [...(query === '' ? found : byName).slice(0, MOST), ...call];
}
