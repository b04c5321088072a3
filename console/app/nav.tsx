// The pages at the left; under a button at the top of a phone. Below them: who is signed in, language, look.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { hrefOf, place } from '../base/router.ts';
import { theme, THEMES, type Theme } from '../base/theme.ts';
import { LANGUAGES, LANGUAGE_NAMES, language, t, type Language } from '../text/index.ts';
import { IconButton } from '../ui/button.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { helpIsOpen } from './help.tsx';
import { currentPage } from './current.ts';
import { session, signOut } from './session.ts';
import { groups } from './visible.ts';

const menuIsOpen = signal(false);

export function Nav(): JSX.Element {
  const texts = t().shell;
  const here = currentPage.value;
  const at = place.value;
  useEffect(() => {
    menuIsOpen.value = false;
  }, [at]);
  return (
    <aside class={menuIsOpen.value ? 'nav open' : 'nav'} aria-label={t().common.product}>
      <div class="brand">
        <a href={hrefOf('')} class="product">
          <Product />
          <span>{t().common.product}</span>
        </a>
        <span class="menu-button">
          <IconButton
            icon={menuIsOpen.value ? 'close' : 'menu'}
            label={menuIsOpen.value ? texts.closeMenu : texts.openMenu}
            expanded={menuIsOpen.value}
            onClick={() => {
              menuIsOpen.value = !menuIsOpen.value;
            }}
          />
        </span>
      </div>
      <div class="nav-rest">
        <nav aria-label={texts.navigation}>
          {groups.value.map(({ group, pages }) => (
            <div key={group} class="group" role="group" aria-label={texts.groups[group]}>
              <p aria-hidden="true">{texts.groups[group]}</p>
              {pages.map(({ name, page }) => (
                <a
                  key={name}
                  href={hrefOf(name)}
                  aria-current={name === here ? 'page' : undefined}
                  title={`g ${page.key}`}
                >
                  <Icon name={page.icon} />
                  {t().pages[name].name}
                </a>
              ))}
            </div>
          ))}
        </nav>
        <Person />
      </div>
    </aside>
  );
}

const THEME_ICONS: Readonly<Record<Theme, IconName>> = { auto: 'gauge', light: 'sun', dark: 'moon' };

function Person(): JSX.Element | null {
  const state = session.value;
  const texts = t().shell;
  if (state.is !== 'in') return null;
  return (
    <div class="person">
      <div class="looks">
        <Choose
          label={texts.theme}
          icon={THEME_ICONS[theme.value]}
          value={theme.value}
          choices={THEMES.map((one) => ({ value: one, label: texts.themes[one] }))}
          onChange={(value) => {
            theme.value = value as Theme;
          }}
        />
        <Choose
          label={texts.language}
          icon="globe"
          value={language.value}
          choices={LANGUAGES.map((one) => ({ value: one, label: LANGUAGE_NAMES[one] }))}
          onChange={(value) => {
            language.value = value as Language;
          }}
        />
        <IconButton
          icon="keyboard"
          label={`${texts.help} (?)`}
          onClick={() => {
            helpIsOpen.value = true;
          }}
        />
      </div>
      <div class="who">
        <span class="names">
          <span class="hidden">{texts.signedInAs}</span>
          <span class="name" title={state.who.name}>
            {state.who.name}
          </span>
          <span class="role">{texts.roles[state.role]}</span>
        </span>
        {state.who.kind === 'open' ? null : (
          <IconButton icon="signout" label={texts.signOut} onClick={() => void signOut()} />
        )}
      </div>
      <span class="version">{state.version}</span>
    </div>
  );
}

function Choose({
  label,
  icon,
  value,
  choices,
  onChange,
}: {
  readonly label: string;
  readonly icon: IconName;
  readonly value: string;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string) => void;
}): JSX.Element {
  return (
    <label class="choose" title={label}>
      <Icon name={icon} />
      <span class="hidden">{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map((one) => (
          <option key={one.value} value={one.value} selected={one.value === value}>
            {one.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The product's mark: one line through two stations. */
export function Product({ size = 20 }: { size?: number }): JSX.Element {
  return (
    <svg class="product-mark" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <path d="M2 16h28" />
      <circle class="hollow" cx="10" cy="16" r="4.5" />
      <circle cx="22" cy="16" r="4.5" />
    </svg>
  );
}
