// The settings of sampling for a model that may take none: such a model answers 400 for any but the defaults.
import type { Target } from './dialect.ts';
import { levelOf } from './effort.ts';
import type { Settings } from './form.ts';
import { takesSampling } from './models.ts';

/** What of the settings the model takes; the rest is refused, or dropped and named. A temperature and a top_p of 1 say nothing. */
export function withTakenSampling(settings: Settings, { model, losses }: Target): Settings {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, ...others } = settings;
  const { effort } = others;
  if (takesSampling(model, effort === undefined ? null : levelOf(effort.value))) return settings;
  const saying = [temperature, topP].filter((one) => one?.value !== 1); // but a top_k of 1 takes the likeliest word
  for (const one of [...saying, topK, presencePenalty, frequencyPenalty])
    if (one !== undefined) losses.cannot(one.member, 'this model takes no sampling settings.');
  return others;
}
