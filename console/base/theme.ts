// Light, dark, or what the machine says. The style sheet does the rest by `light-dark()`.
import { effect } from '@preact/signals';
import { stored } from './stored.ts';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const theme = stored<Theme>('theme', THEMES, 'auto');

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto';
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});
