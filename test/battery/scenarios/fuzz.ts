// Arbitrary bytes into everything that reads bytes of others: each target states what must hold whatever comes. A
// failure prints the seed and the path that repeat it, and the smallest input that fast-check found.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { HOP_BY_HOP } from '../../../config/header-names.ts';
import { loadConfig } from '../../../config/load.ts';
import { recoverJournal } from '../../../proxy/spend/journal/recover.ts';
import { beginLine, checkLine, eachLine, settleLine } from '../../../proxy/spend/record/line.ts';
import { segmentPath } from '../../../proxy/spend/store/segments.ts';
import { HeaderRules } from '../../../proxy/headers/header-rules.ts';
import { readHeaders } from '../../../proxy/headers/request-headers.ts';
import { peek } from '../../../proxy/bodies/peek.ts';
import type { Member } from '../../../proxy/bodies/members.ts';
import { splice, type Edit } from '../../../proxy/bodies/splice.ts';
import { beginOf, settleOf } from '../../proxy/spend/record/fixture/records.ts';
import {
  chunk,
  cutAt,
  data,
  DONE,
  mayLackDone,
  PROTOCOLS,
  run as tapped,
  stateOf,
  usageOnly,
} from '../../proxy/relay/fixture/streams.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';
import { changed, changes, type FuzzTarget } from './fixture/fuzz-input.ts';
import { REQUEST_TARGETS } from './fixture/fuzz-requests.ts';

const SAMPLE = join(import.meta.dirname, '../../../config/samples/full.yaml');
const DEPTH = 1_000;

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const NAMES = ['model', 'stream', 'metadata', 'user', 'stream_options'];
const WANTED = { names: new Set(NAMES), prefixes: ['litellm_'] };
const body = fc.dictionary(
  fc.oneof(fc.constantFrom(...NAMES, 'litellm_x', 'messages'), fc.string({ maxLength: 6 })),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 6 },
);
const TOKENS =
  '{ } [ ] , : "a" "model" "" "\\u00e9" "\\u00" "\\x" " 0 -0 - 01 1. 1.5 1e 1e5 1E+2 + true tru null nul é \\ NaN';
const soup = fc.array(fc.constantFrom(...TOKENS.split(' '), ' ', '\n'), { maxLength: 14 });

const rules = new HeaderRules(dialectOf(DEFAULT_WORDS), {
  forwardAll: true,
  forwardPrefixes: ['x-'],
  deny: [],
  allow: [],
});
const NEVER = [
  'authorization',
  'api-key',
  'x-api-key',
  'cookie',
  'host',
  'content-length',
  'expect',
  ...HOP_BY_HOP,
];
const headerName = fc.oneof(
  fc.constantFrom(...NEVER, 'x-litellm-session-id', 'content-type', 'x-a'),
  fc.stringMatching(/^[A-Za-z_-]{1,12}$/),
);
/** As a lenient reader behind us could take it: any case, dashes for underscores. */
const folded = (name: string): string => name.toLowerCase().replaceAll('_', '-');

const event = fc.oneof(
  fc.constantFrom(chunk('hé😀'), chunk('', 'stop'), usageOnly, DONE, data({ error: { code: 'c' } })),
  fc.constantFrom(': ping\n\n', '\n', 'data\n\n', 'event: error\ndata: {}\n\n', 'id: 1\n', '\r', '\ufeff'),
);

const TARGETS: readonly FuzzTarget[] = [
  {
    name: 'scanner: judges as JSON.parse does',
    cost: 1,
    property: () =>
      fc.property(
        fc.oneof(
          body.map((value) => JSON.stringify(value)),
          soup.map((tokens) => `{${tokens.join('')}}`),
        ),
        changes(3),
        (text, all) => {
          const bytes = changed(Buffer.from(text), all);
          return peek(bytes, { names: new Set(), prefixes: [] }, DEPTH).ok === isObject(parsed(bytes));
        },
      ),
  },
  {
    name: 'splicer: the same edit as on the parsed object',
    cost: 1,
    property: () =>
      fc.property(body, fc.jsonValue({ maxDepth: 1 }), fc.nat(), (value, put, choice) => {
        const bytes = Buffer.from(JSON.stringify(value, null, choice % 3));
        const found = peek(bytes, WANTED, DEPTH);
        if (!found.ok) return false;
        const expected = JSON.parse(bytes.toString()) as Record<string, unknown>;
        const edits = found.members.map((member: Member, n): Edit => {
          if ((choice >> n) % 2 === 0) {
            delete expected[member.name];
            return { kind: 'remove', member };
          }
          Object.defineProperty(expected, member.name, { value: put, enumerable: true, configurable: true });
          return { kind: 'replace', member, value: JSON.stringify(put) };
        });
        return isDeepStrictEqual(
          JSON.parse(splice(bytes, found, edits).toString()),
          JSON.parse(JSON.stringify(expected)),
        );
      }),
  },
  {
    name: 'SSE scanner: however it is cut, the same bytes and the same reading',
    cost: 1,
    property: () =>
      fc.property(
        fc.array(event, { maxLength: 6 }),
        changes(2),
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.constantFrom(...PROTOCOLS),
        fc.boolean(),
        (events, all, cuts, protocol, stripUsage) => {
          const bytes = changed(Buffer.from(events.join('')), all);
          const whole = tapped(protocol, [bytes], { stripUsage });
          const pieces = tapped(protocol, cutAt(bytes, cuts), { stripUsage });
          return (
            whole.all.equals(pieces.all) &&
            isDeepStrictEqual(stateOf(whole.tap), stateOf(pieces.tap)) &&
            (stripUsage || whole.all.equals(bytes) || mayLackDone(bytes))
          );
        },
      ),
  },
  {
    name: 'header filter: what may not go upstream does not',
    cost: 1,
    property: () =>
      fc.property(
        fc.array(fc.tuple(headerName, fc.string({ maxLength: 8 }), fc.integer({ min: 0, max: 2 })), {
          maxLength: 6,
        }),
        (headers) => {
          const raw = headers.flatMap(([name, value, how]) => [
            how === 0 ? name : how === 1 ? name.toUpperCase() : name.replaceAll('-', '_'),
            value,
          ]);
          const { rules: found } = readHeaders(rules, raw);
          return found.every(
            ({ name, verdict }) => verdict.action === 'dropped' || !NEVER.includes(folded(name)),
          );
        },
      ),
  },
  {
    name: 'configuration: a snapshot or issues, never a throw',
    cost: 10,
    property: (folder) => {
      const sample = readFileSync(SAMPLE);
      const path = join(folder, 'gateway.yaml');
      return fc.property(changes(4), (all) => {
        writeFileSync(path, changed(sample, all));
        const loaded = loadConfig(path, { PROXY_MASTER_KEY: 'sk-fuzz' });
        return loaded.ok || loaded.issues.length > 0;
      });
    },
  },
  {
    name: 'journal: every undamaged line is kept, and a second recovery finds nothing to mend',
    cost: 10,
    property: (folder) =>
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 8 }), changes(4), (lines, all) => {
        const dir = join(folder, 'journal');
        rmSync(dir, { recursive: true, force: true });
        mkdirSync(dir);
        const text = lines.map(([id, settles]) =>
          settles ? settleLine(settleOf(beginOf(`id-${id}`))) : beginLine(beginOf(`id-${id}`)),
        );
        const bytes = changed(Buffer.from(text.join('')), all);
        writeFileSync(segmentPath(dir, 1), bytes);
        const kept = goodLines(bytes);
        const first = recoverJournal(dir);
        const after = readFileSync(segmentPath(dir, 1));
        const second = recoverJournal(dir);
        return (
          second.damaged === 0 &&
          isDeepStrictEqual(first.open, second.open) &&
          isDeepStrictEqual(goodLines(after).slice(0, kept.length), kept)
        );
      }),
  },
];

function goodLines(bytes: Buffer): string[] {
  const good: string[] = [];
  eachLine(bytes, (line) => {
    if (checkLine(line) !== null) good.push(line.toString('latin1'));
  });
  return good;
}

/** So many inputs, or as many as fit into so many seconds. */

interface Amount {
  readonly executions: number;
  readonly seconds: number | null;
}

async function fuzzed(scenario: ScenarioRun, target: FuzzTarget, amount: Amount): Promise<ResultRow> {
  const { seed } = scenario.options;
  const result = new ResultRow(target.name, [], seed);
  const { executions, seconds } = amount;
  const bound =
    seconds === null
      ? { numRuns: Math.max(100, Math.ceil(executions / target.cost)) }
      : { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 1_000 };
  const startedAt = performance.now();
  const details = await fc.check(target.property(scenario.folder()), { ...bound, seed });
  result.pass(details.numRuns - (details.failed ? 1 : 0));
  if (details.failed)
    result.fail(
      `seed ${details.seed}, path ${details.counterexamplePath}: ${fc.stringify(details.counterexample)} ${String(details.errorInstance ?? '')}`,
    );
  result.notes.push(`${target.name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
  return result;
}

export const fuzz: Scenario = {
  name: 'fuzz',
  about: 'arbitrary bytes into everything that reads bytes of others',
  run: async (scenario) => {
    const { executions, seconds } = scenario.options;
    const amount = { executions: scenario.count(1_000_000, 3_000, executions), seconds };
    const results: ResultRow[] = [];
    for (const target of [...TARGETS, ...REQUEST_TARGETS]) {
      results.push(await fuzzed(scenario, target, amount));
      await new Promise<void>((resume) => setImmediate(resume)); // a signal may end the run here
    }
    return results;
  },
};
