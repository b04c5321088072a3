// What needs a person: a sentence, what mends it, where the page shows more. The sentences are the server's, in English.
import type { JSX } from 'preact';
import type { ChainFinding } from '../api/types.ts';
import { count } from '../format/numbers.ts';
import { hrefTo } from '../base/router.ts';
import { language, t } from '../text/index.ts';
import { Badge, Mark, type Tone } from './badge.tsx';

const TONES: Readonly<Record<ChainFinding['level'], Tone>> = { error: 'bad', warning: 'warn', info: 'idle' };

/** @param total how many there are, when some are left out */
export function Findings({
  findings,
  total = findings.length,
}: {
  findings: readonly ChainFinding[];
  total?: number;
}): JSX.Element {
  const texts = t().overview;
  if (findings.length === 0) {
    return (
      <p class="all-well">
        <Badge tone="good">{texts.noFindings}</Badge>
        <span class="quiet">{texts.noFindingsWhy}</span>
      </p>
    );
  }
  return (
    <>
      <ul class="findings" lang="en">
        {findings.map(({ level, text, mend, link }) => (
          <li key={text}>
            <Mark tone={TONES[level]} size={12} />
            <div>
              <p>
                <span class="hidden" lang={language.value}>
                  {texts.levels[level]}:{' '}
                </span>
                {text}
              </p>
              <p class="quiet">{mend}</p>
              {link === null ? null : (
                <a href={hrefTo(link)} lang={language.value}>
                  {texts.show}
                </a>
              )}
            </div>
          </li>
        ))}
      </ul>
      {total > findings.length ? (
        <p class="quiet findings-more">{texts.moreFindings(count(total - findings.length))}</p>
      ) : null}
    </>
  );
}
