// A state as a word with a shape before it: whoever sees no colours reads the same.
import type { ComponentChildren, JSX } from 'preact';

/** good: as it should be. busy: under way. warn: look at it. bad: act. idle: nothing to say. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A full dot, a half one, a triangle, a square on its tip, a ring. */
const SHAPES: Readonly<Record<Tone, JSX.Element>> = {
  good: <circle cx="5" cy="5" r="4" />,
  busy: (
    <>
      <circle class="hollow" cx="5" cy="5" r="3.25" />
      <path d="M5 1a4 4 0 0 1 0 8z" />
    </>
  ),
  warn: <path d="M5 .8 9.6 9H.4z" />,
  bad: <path d="M5 .2 9.8 5 5 9.8.2 5z" />,
  idle: <circle class="hollow" cx="5" cy="5" r="3.25" />,
};

export function Mark({ tone, size = 10 }: { tone: Tone; size?: number }): JSX.Element {
  return (
    <svg class={`mark ${tone}`} viewBox="0 0 10 10" width={size} height={size} aria-hidden="true">
      {SHAPES[tone]}
    </svg>
  );
}

export function Badge({
  tone = 'idle',
  children,
  title,
}: {
  tone?: Tone;
  children: ComponentChildren;
  title?: string | undefined;
}): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={title}>
      <Mark tone={tone} />
      <span>{children}</span>
    </span>
  );
}

/** A word without a state: a tag, a provider, a role. */
export function Tag({ children, title }: { children: ComponentChildren; title?: string }): JSX.Element {
  return (
    <span class="tag" title={title}>
      {children}
    </span>
  );
}
