// A text that can be copied: ids, keys, commands.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../text/index.ts';
import { Icon } from './icon.tsx';
import { toast } from './toast.tsx';

const SHOWN_MS = 1500;

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Plain http off this machine has no clipboard.
    toast(t().common.copyFailed, 'warn');
    return false;
  }
}

export function CopyButton({ text, label }: { text: string; label?: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    setDone(await copyText(text));
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  const name = done ? t().common.copied : (label ?? t().common.copy);
  return (
    <button
      type="button"
      class="button quiet square small"
      aria-label={name}
      title={name}
      onClick={(event) => {
        event.stopPropagation();
        event.preventDefault();
        void copy();
      }}
    >
      <Icon name={done ? 'check' : 'copy'} size={14} />
    </button>
  );
}

/** An id: cut in the middle of nothing, whole in its tooltip and in the clipboard; or whole. */
export function Id({ id, whole = false }: { id: string; whole?: boolean }): JSX.Element {
  return (
    <span class={whole ? 'id whole' : 'id'}>
      <code title={id}>{id}</code>
      <CopyButton text={id} />
    </span>
  );
}
