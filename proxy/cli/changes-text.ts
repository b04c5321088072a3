// Changes between two configurations, as people read them.
import type { Change } from '../../config/diff.ts';

const HEADS: Readonly<Record<Change['about'], string>> = {
  model: 'models',
  key: 'keys',
  team: 'teams',
  setting: 'settings',
};
const MARKS: Readonly<Record<Change['change'], string>> = { added: '+', removed: '-', changed: '~' };
const CONTROL = /[\p{Cc}\p{Cf}]+/gu;
const SHOWN = 160;

/** One line per change, under a heading per kind. */
export function changesText(changes: readonly Change[]): string {
  let text = '';
  for (const about of ['model', 'key', 'team', 'setting'] as const) {
    const some = changes.filter((change) => change.about === about);
    if (some.length > 0) text += `${HEADS[about]}\n${some.map(lineOf).join('')}`;
  }
  return text;
}

function lineOf({ change, name, what, before, after, needsRestart }: Change): string {
  const subject = what === '' ? name : `${name}  ${what}`;
  const values = [before, after].map((value) => (value === null ? 'none' : shown(value)));
  const detail = change === 'changed' || what !== '' ? `: ${values.join(' -> ')}` : wholeOf(before ?? after);
  return `  ${MARKS[change]} ${shown(subject)}${detail}${needsRestart ? ' (after a restart)' : ''}\n`;
}

const wholeOf = (place: string | null): string =>
  place === null || place === 'present' ? '' : `: ${shown(place)}`;

function shown(text: string): string {
  const plain = text.replaceAll(CONTROL, ' ');
  return plain.length <= SHOWN ? plain : `${plain.slice(0, SHOWN)}...`;
}
