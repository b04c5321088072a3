// The platform's own client of its LLM proxy (OpenHands, enterprise/storage/lite_llm_manager.py), run as it is against us. Its
// code is not part of this repository: a variable names the file.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { KEY, send, startRig } from '../../support/rig.ts';
import { agentPython } from '../harness/agent.ts';
import { packageVersion, type PythonEnvironment } from '../harness/python.ts';
import { Missing, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

const VARIABLE = 'THROUGHLINE_INTEROP_PLATFORM_CLIENT';
const PROGRAM = join(import.meta.dirname, '..', 'programs', 'platform-client.py');
/** The platform's default team, which its init container makes. */
const TEAM = 'openhands';

interface Step {
  readonly step: string;
  readonly value?: unknown;
  readonly error?: string;
  readonly status?: number | null;
  readonly calls: readonly (readonly [method: string, path: string, status: number])[];
}

/** What each step must return; a step that is not here returns nothing. */
const EXPECTED: Readonly<Record<string, (value: unknown) => void>> = {
  'the first user of an organization': isKey,
  'everything is found again': isWhole,
  'the same once more': isKey,
  'the old key is gone': (value) => assert.equal(value, false),
  'the new one is there': isWhole,
  'the second user': isKey,
  "a user with somebody else's e-mail address": isKey,
  'budgets of the team and of its members': (value) =>
    assert.deepEqual(value, { team: 25, member: 25, metadata: { version: 5, model: 'litellm_proxy/demo' } }),
  'a key of the user, rotated': (value) =>
    assert.deepEqual(value, { found: true, old: false, new: true, old_found: false, new_found: true }),
  'a user from before organizations moves with twelve keys': (value) =>
    assert.deepEqual(value, { moved: 12, budget: 20, again: true, valid: 12 }),
  'and back': (value) => assert.deepEqual(value, { budget: 20, teams: [TEAM], valid: 12 }),
  'a member leaves, twice': (value) => assert.deepEqual(value, ['first']),
  'its keys are gone': (value) => assert.equal(value, false),
};

function isKey(value: unknown): void {
  assert.match(String(value), /^sk-/);
}

function isWhole(value: unknown): void {
  assert.deepEqual(value, {
    valid: true,
    found: true,
    info: { key_max_budget: null, key_spend: 0 },
    budget: [0, 0],
  });
}

async function play(
  run: InteropRun,
  environment: PythonEnvironment,
  source: string,
): Promise<readonly Step[]> {
  const rig = await startRig(run);
  const made = await send(rig.url, 'POST', '/team/new', { team_id: TEAM, models: [], spend: 0 });
  assert.equal(made.status, 200, made.text);
  const child = spawn(environment.python, [PROGRAM], {
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  child.stdin.end(JSON.stringify({ source, url: rig.url, key: KEY, team: TEAM }));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, err.slice(-2_000));
  return out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Step);
}

/** `GET /team/info 404, POST /team/new 200`; the same call again and again is told once. */
function callsOf({ calls }: Step): string {
  const told: { call: string; times: number }[] = [];
  for (const [method, path, status] of calls) {
    const call = `${method} ${path} ${status}`;
    const last = told.at(-1);
    if (last?.call === call) last.times += 1;
    else told.push({ call, times: 1 });
  }
  return told.map(({ call, times }) => (times === 1 ? call : `${call} (${times} times)`)).join(', ');
}

function casesOf(run: InteropRun, environment: PythonEnvironment, source: string): readonly Case[] {
  const steps = new Map<string, Step>();
  const first: Case = {
    name: 'a team that does not exist',
    play: async () => {
      for (const step of await play(run, environment, source)) steps.set(step.step, step);
      const absent = steps.get('a team that does not exist');
      assert.equal(absent?.status, 404, JSON.stringify(absent));
      return absent === undefined ? '' : callsOf(absent);
    },
  };
  const names = [
    ...Object.keys(EXPECTED).slice(0, -1),
    'a user is deleted',
    'a team is deleted',
    'once more',
    'its keys are gone',
  ];
  const others = names.map((name): Case => ({
    name,
    play: async () => {
      const step = steps.get(name);
      assert.ok(step !== undefined, 'it was played');
      assert.equal(step.error, undefined);
      EXPECTED[name]?.(step.value);
      return callsOf(step);
    },
  }));
  return [first, ...others];
}

export const platformClient: Suite = {
  name: 'platform-client',
  about: "the platform's client that provisions teams, users and keys (its file is named by a variable)",
  prepare: async (run) => {
    const source = process.env[VARIABLE] ?? '';
    if (!existsSync(source))
      throw new Missing(
        `${VARIABLE} names no file - clone the OpenHands repository at its commit 96f902a9a, and set it to enterprise/storage/lite_llm_manager.py there`,
      );
    const environment = agentPython();
    const digest = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12);
    return {
      software: `lite_llm_manager.py ${digest}, httpx ${packageVersion(environment, 'httpx')}, Python ${environment.version}`,
      cases: casesOf(run, environment, source),
    };
  },
};
