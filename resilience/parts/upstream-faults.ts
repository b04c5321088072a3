// Every fault of the table, streamed and not, through the real program: what the client got, what the row says, and
// that the next call on the same gateway is served. No client ever sees an end that the upstream did not send.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveCli } from '../../test/support/cli.ts';
import { KEY, send, type Answer } from '../../test/support/rig.ts';
import { rowsOf } from '../harness/books.ts';
import { startScriptedUpstream } from '../harness/scripted-upstream.ts';
import type { Part, Stage } from '../harness/stage.ts';
import { Tally } from '../harness/tally.ts';
import { FAULTS, type Fault, type Outcome } from './fixture/faults.ts';

const CLOCKS = 'timeout: 0.4, stream_timeout: 0.4, idle_timeout: 0.4, total_timeout: 1, num_retries: 0';

/** What the client got, in the words of the table. */
function outcomeOf(answer: Answer, row: Readonly<Record<string, unknown>> | undefined): Outcome {
  const own = answer.headers['x-litellm-error-source'] === 'upstream' && /"code":"(\w+)"/.exec(answer.text);
  const error = errorIn(answer.text);
  const how = answer.broken ? (error === null ? 'cut' : 'told') : isOwn(answer) ? 'error' : 'passed';
  void own;
  return [how, answer.status, how === 'told' || how === 'error' ? error : null, String(row?.['end_reason'])];
}
