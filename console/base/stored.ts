// What this browser remembers of its user: looks, never data and never a key.
import { effect, signal, type Signal } from '@preact/signals';

/** A choice among some words, kept over visits. */
export function stored<T extends string>(name: string, choices: readonly T[], initial: T): Signal<T> {
  const key = `throughline-console-${name}`;
  const kept = choices.find((one) => one === read(key));
  const choice = signal<T>(kept ?? initial);
  effect(() => {
    write(key, choice.value);
  });
  return choice;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is switched off
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // it lasts as long as the page
  }
}
