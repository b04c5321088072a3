// The list of keys.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { t } from '../text/index.ts';
import { Dialog } from '../ui/dialog.tsx';
import { CheckboxField } from '../ui/field.tsx';
import { PALETTE_KEY } from './palette.tsx';
import { keysAreOn } from './keys-on.ts';
import { visiblePages } from './visible.ts';

export const helpIsOpen = signal(false);

export function Help(): JSX.Element | null {
  if (!helpIsOpen.value) return null;
  const texts = t().keys;
  const { list } = texts;
  return (
    <Dialog
      title={texts.title}
      onClose={() => {
        helpIsOpen.value = false;
      }}
    >
      <div class="keys">
        <Keys
          title={texts.everywhere}
          rows={[
            ['?', list.help],
            [PALETTE_KEY, list.palette],
            ['/', list.filter],
            ['r', list.refresh],
            ['u', list.zone],
            ['t', list.theme],
            ['Esc', list.close],
          ]}
        />
        <Keys
          title={texts.inLists}
          rows={[
            ['j ↓', list.next],
            ['k ↑', list.previous],
            ['Enter', list.open],
            ['c', list.copy],
          ]}
        />
        <Keys
          title={texts.pages}
          rows={visiblePages.value.map(({ name, page }) => [`g ${page.key}`, t().pages[name].name])}
        />
      </div>
      <CheckboxField
        label={texts.switch}
        hint={texts.switchHint}
        checked={keysAreOn.value === 'on'}
        onChange={(isOn) => {
          keysAreOn.value = isOn ? 'on' : 'off';
        }}
      />
    </Dialog>
  );
}

function Keys({ title, rows }: { title: string; rows: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
