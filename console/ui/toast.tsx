// A line at the edge of the page that says what a step did, and goes away by itself. Errors stay until they are closed. Under an
// open window nothing can be seen, read out or closed: the lines stand in the topmost one.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/index.ts';
import { Mark, type Tone } from './badge.tsx';
import { IconButton } from './button.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const SHOWN_MS = 5000;
const toasts = signal<readonly Toast[]>([]);
/** The windows above the page, the topmost last. */
const windows = signal<readonly object[]>([]);
let last = 0;

export function toast(text: string, tone: Tone = 'good'): void {
  last += 1;
  const id = last;
  toasts.value = [...toasts.peek().slice(-3), { id, text, tone }];
  if (tone !== 'bad') setTimeout(() => close(id), SHOWN_MS);
}

function close(id: number): void {
  toasts.value = toasts.peek().filter((one) => one.id !== id);
}

/** They name what somebody saw who is gone. */
export function forgetToasts(): void {
  toasts.value = [];
}

export function Toasts({ inWindow = false }: { inWindow?: boolean }): JSX.Element | null {
  const [own] = useState(() => (inWindow ? {} : undefined));
  useEffect(() => {
    if (own === undefined) return undefined;
    windows.value = [...windows.peek(), own];
    return () => {
      windows.value = windows.peek().filter((one) => one !== own);
    };
  }, [own]);
  if (windows.value.at(-1) !== own) return null;
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class="toast">
          <Mark tone={tone} />
          <span>{text}</span>
          <IconButton icon="close" label={t().common.close} onClick={() => close(id)} />
        </div>
      ))}
    </div>
  );
}
