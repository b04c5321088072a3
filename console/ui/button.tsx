// Buttons. One look each for: the step that the page is for, ordinary steps, quiet ones, and those that destroy.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly onClick?: (event: MouseEvent) => void;
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  readonly icon?: IconName;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** Something is under way: says so, and takes no second click. */
  readonly busy?: boolean;
  readonly title?: string;
  readonly id?: string;
}

export function Button({
  children,
  kind = 'plain',
  icon,
  type = 'button',
  busy = false,
  disabled = false,
  ...rest
}: ButtonProps): JSX.Element {
  return (
    <button {...rest} type={type} class={`button ${kind}`} disabled={disabled || busy} aria-busy={busy}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that is an icon; `label` is what it is called, and its tooltip. */
export function IconButton({
  icon,
  label,
  onClick,
  pressed,
  expanded,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: (event: MouseEvent) => void;
  readonly pressed?: boolean;
  readonly expanded?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="button quiet square"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
