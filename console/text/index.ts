// The language of the page. English is in the page's own script; another one is a file of its own, fetched when it is chosen.
import { effect, signal } from '@preact/signals';
import { stored } from '../base/stored.ts';
import { en } from './en.ts';

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' };

/** All texts of one language: the shape of the English file. */
export type Texts = typeof en;

export const language = stored<Language>(
  'language',
  LANGUAGES,
  navigator.language.toLowerCase().startsWith('de') ? 'de' : 'en',
);

const texts = signal<Texts>(en);

/** The texts; a component that reads them follows the language. */
export function t(): Texts {
  return texts.value;
}

const LOADERS: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: () => Promise.resolve(en),
  de: async () => (await import('./de.ts')).de,
};

/** Settles when the first texts are there, so that nothing is shown in another language first. */
export function loadTexts(): Promise<void> {
  let first: Promise<void> | null = null;
  effect(() => {
    const loading = show(language.value);
    first ??= loading;
  });
  return first ?? Promise.resolve();
}

async function show(wanted: Language): Promise<void> {
  let loaded = en; // where the server is away, English is here
  try {
    loaded = await LOADERS[wanted]();
  } catch {
    wanted = 'en';
  }
  if (language.peek() !== wanted && loaded !== en) return; // another one was chosen meanwhile
  texts.value = loaded;
  document.documentElement.lang = wanted;
}
