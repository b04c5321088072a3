// The fields of what something may use: budget, limits, models. They are of one shape for keys, teams and users.
import type { JSX } from 'preact';
import { useResource } from '../api/resource.ts';
import type { Limits, Terms } from '../api/access.ts';
import { count } from '../format/numbers.ts';
import { t } from '../text/index.ts';
import { Advanced, TextField } from './field.tsx';

/** As typed. */
export interface TermsDraft {
  readonly maxBudget: string;
  readonly softBudget: string;
  readonly budgetDuration: string;
  readonly rpm: string;
  readonly tpm: string;
  readonly parallel: string;
  readonly models: string;
}

export const NO_TERMS: TermsDraft = {
  maxBudget: '',
  softBudget: '',
  budgetDuration: '',
  rpm: '',
  tpm: '',
  parallel: '',
  models: '',
};

const typed = (value: number | null): string => (value === null ? '' : String(value));

export function termsDraftOf(row: Terms & Limits & { readonly models: readonly string[] }): TermsDraft {
  return {
    maxBudget: typed(row.max_budget),
    softBudget: typed(row.soft_budget),
    budgetDuration: row.budget_duration ?? '',
    rpm: typed(row.rpm_limit),
    tpm: typed(row.tpm_limit),
    parallel: typed(row.max_parallel_requests),
    models: row.models.join(', '),
  };
}

const NUMBERS = {
  maxBudget: 'max_budget',
  softBudget: 'soft_budget',
  rpm: 'rpm_limit',
  tpm: 'tpm_limit',
  parallel: 'max_parallel_requests',
} as const;
type NumberName = keyof typeof NUMBERS;
const WHOLE: ReadonlySet<string> = new Set(['rpm', 'tpm', 'parallel']);
const DURATION = /^(?:\d+(?:s|m|h|d|w|mo)|hourly|daily|weekly|monthly)$/;

export function isAmount(text: string, isWhole = false): boolean {
  if (text.trim() === '') return true;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 && (!isWhole || Number.isSafeInteger(value));
}

export function isDuration(text: string): boolean {
  return text.trim() === '' || DURATION.test(text.trim());
}

export function areTermsRight(draft: TermsDraft): boolean {
  const names = Object.keys(NUMBERS) as NumberName[];
  return names.every((name) => isAmount(draft[name], WHOLE.has(name))) && isDuration(draft.budgetDuration);
}

/** What differs from what there was; what was emptied is null, which clears it. */
export function termsBody(draft: TermsDraft, before: TermsDraft): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(NUMBERS) as [NumberName, string][]) {
    const text = draft[name].trim();
    if (text !== before[name].trim()) body[member] = text === '' ? null : Number(text);
  }
  const window = draft.budgetDuration.trim();
  if (window !== before.budgetDuration) body['budget_duration'] = window === '' ? null : window;
  if (listOf(draft.models).join() !== listOf(before.models).join()) body['models'] = listOf(draft.models);
  return body;
}

/** Names with commas or line breaks between them. */
export function listOf(text: string): readonly string[] {
  return [...new Set(text.split(/[,\n]/).map((one) => one.trim()))].filter((one) => one !== '');
}

export function TermsFields({
  draft,
  set,
  isOpen = false,
}: {
  readonly draft: TermsDraft;
  readonly set: (changes: Partial<TermsDraft>) => void;
  readonly isOpen?: boolean;
}): JSX.Element {
  const texts = t().budgets.terms;
  const models = useResource<{ readonly data: readonly { readonly model_name: string }[] }>('model/info')
    .state.value;
  const names =
    models.is === 'ready' ? [...new Set(models.data.data.map(({ model_name: name }) => name))] : [];
  const field = (name: NumberName, label: string, hint?: string): JSX.Element => (
    <TextField
      label={label}
      value={draft[name]}
      onInput={(value) => set({ [name]: value })}
      error={isAmount(draft[name], WHOLE.has(name)) ? null : texts.noAmount}
      {...(hint === undefined ? {} : { hint })}
    />
  );
  return (
    <>
      <TextField
        label={texts.models}
        hint={texts.modelsHint}
        value={draft.models}
        onInput={(value) => set({ models: value })}
        suggestions={names}
        mono
      />
      <div class="pair">
        {field('maxBudget', texts.maxBudget, texts.maxBudgetHint)}
        <TextField
          label={texts.budgetDuration}
          hint={texts.budgetDurationHint}
          value={draft.budgetDuration}
          onInput={(value) => set({ budgetDuration: value })}
          suggestions={['1d', '7d', '30d', '1mo']}
          error={isDuration(draft.budgetDuration) ? null : texts.noDuration}
        />
      </div>
      <Advanced title={texts.limits} open={isOpen}>
        <div class="pair">
          {field('rpm', texts.rpm)}
          {field('tpm', texts.tpm)}
        </div>
        <div class="pair">
          {field('parallel', texts.parallel)}
          {field('softBudget', texts.softBudget, texts.softBudgetHint)}
        </div>
      </Advanced>
    </>
  );
}

/** What may be used, in a line each, for the facts of one thing. */
export function limitsText({
  rpm_limit: rpm,
  tpm_limit: tpm,
  max_parallel_requests: parallel,
}: Limits): string {
  const texts = t().budgets.terms;
  const parts = [
    rpm === null ? '' : `${count(rpm)} ${texts.rpmShort}`,
    tpm === null ? '' : `${count(tpm)} ${texts.tpmShort}`,
    parallel === null ? '' : `${count(parallel)} ${texts.parallelShort}`,
  ].filter((one) => one !== '');
  return parts.length === 0 ? '–' : parts.join(' · ');
}
