// Fields of a form: a label that says what it is, a hint that says why, an error that says what to do. All of one shape.
import type { ComponentChildren, JSX } from 'preact';
import { useContext, useId } from 'preact/hooks';
import { Mark } from './badge.tsx';
import { Changed } from './dialog.tsx';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | null;
  readonly disabled?: boolean;
  readonly required?: boolean;
}

interface Described {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: boolean;
  readonly disabled?: boolean;
  readonly required?: boolean;
}

function Field({
  field,
  children,
}: {
  field: FieldProps;
  children: (described: Described) => JSX.Element;
}): JSX.Element {
  const id = useId();
  const { label, hint, error = null, disabled, required } = field;
  const by = [hint === undefined ? '' : `${id}-hint`, error === null ? '' : `${id}-error`].filter(Boolean);
  return (
    <div class={error === null ? 'field' : 'field wrong'}>
      <label for={id}>
        {label}
        {required === true ? (
          <span class="required" aria-hidden="true">
            {' '}
            *
          </span>
        ) : null}
      </label>
      {children({
        id,
        ...(by.length === 0 ? {} : { 'aria-describedby': by.join(' ') }),
        ...(error === null ? {} : { 'aria-invalid': true }),
        ...(disabled === undefined ? {} : { disabled }),
        ...(required === undefined ? {} : { required }),
      })}
      {error === null ? null : (
        <p class="error" id={`${id}-error`}>
          <Mark tone="bad" /> {error}
        </p>
      )}
      {hint === undefined ? null : (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}

export function TextField({
  value,
  onInput,
  type = 'text',
  placeholder,
  autoFocus,
  autoComplete = 'off',
  mono = false,
  suggestions,
  ...field
}: FieldProps & {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'url' | 'date';
  readonly placeholder?: string;
  readonly autoFocus?: boolean;
  readonly autoComplete?: string;
  /** For names and addresses of machines. */
  readonly mono?: boolean;
  /** What can be chosen; anything else can be typed. */
  readonly suggestions?: readonly string[];
}): JSX.Element {
  const list = useId();
  // The types of Preact have a case for each type of input; all of these take the same attributes here.
  const kind: object = { type };
  return (
    <Field field={field}>
      {(described) => (
        <>
          <input
            {...described}
            {...kind}
            class={mono ? 'mono' : ''}
            value={value}
            placeholder={placeholder}
            autoFocus={autoFocus}
            autocomplete={autoComplete}
            spellcheck={false}
            autocapitalize="off"
            list={suggestions === undefined ? undefined : list}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          {suggestions === undefined ? null : (
            <datalist id={list}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

export function TextArea({
  value,
  onInput,
  rows = 4,
  mono = false,
  placeholder,
  ...field
}: FieldProps & {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly mono?: boolean;
  readonly placeholder?: string;
}): JSX.Element {
  return (
    <Field field={field}>
      {(described) => (
        <textarea
          {...described}
          class={mono ? 'mono' : ''}
          rows={rows}
          value={value}
          placeholder={placeholder}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export function SelectField({
  value,
  onChange,
  choices,
  ...field
}: FieldProps & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: readonly Choice[];
}): JSX.Element {
  return (
    <Field field={field}>
      {(described) => (
        <select {...described} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {choices.map((one) => (
            <option key={one.value} value={one.value} selected={one.value === value}>
              {one.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckboxField({
  checked,
  onChange,
  label,
  hint,
  disabled,
}: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly disabled?: boolean;
}): JSX.Element {
  const id = useId();
  return (
    <div class="field checkbox">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}

/** Fields one after another, the error of the whole, and the buttons at the end. */
export function Form({
  onSubmit,
  error = null,
  actions,
  children,
  label,
}: {
  readonly onSubmit: () => void;
  readonly error?: string | null;
  readonly actions: ComponentChildren;
  readonly children: ComponentChildren;
  readonly label: string;
}): JSX.Element {
  const changed = useContext(Changed);
  return (
    <form
      class="form"
      aria-label={label}
      noValidate // its fields say themselves what is wrong, in the language of the page
      onInput={changed}
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        onSubmit();
        // Once it is drawn: who cannot see the page hears at once what is wrong, and nobody must look for it in a long form.
        requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
      }}
    >
      {children}
      {error === null ? null : (
        <p class="form-error" role="alert">
          <Mark tone="bad" /> {error}
        </p>
      )}
      <div class="form-actions">{actions}</div>
    </form>
  );
}

/** Settings that most need not see. */
export function Advanced({
  title,
  open = false,
  children,
}: {
  title: string;
  open?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <details class="advanced" open={open}>
      <summary>{title}</summary>
      <div class="form">{children}</div>
    </details>
  );
}
