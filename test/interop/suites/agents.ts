// Coding agents from npm against this proxy, without a login at their vendors: a made-up key and the proxy's address. Each writes a
// file and reads it with its own tools; the gateway speaks the agent's protocol, or chat completions alone.
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import type { Endpoint } from '../../../proxy/demo-gateway/model-request.ts';
import { KEY, startRig, type Row } from '../../support/rig.ts';
import {
  CODING_AGENTS,
  CONTENT,
  installAgent,
  runAgent,
  type CodingAgent,
} from '../harness/coding-agents.ts';
import { Missing, until, type Case, type InteropRun, type Suite } from '../harness/suite.ts';
import { ARRIVED, toolScript } from '../harness/tool-script.ts';

/** What the gateway speaks, and what the entry says of it. */
interface Way {
  readonly name: string;
  /** Absent: everything. */
  readonly serves?: readonly Endpoint[];
  /** YAML of the entry. */
  readonly entry: string;
  readonly isTranslated: boolean;
}

const CHAT: readonly Endpoint[] = ['chat_completion'];
const WAYS: readonly Way[] = [
  { name: "the gateway speaks the agent's protocol", entry: '', isTranslated: false },
  {
    name: 'the gateway speaks chat completions alone, as the entry states',
    serves: CHAT,
    entry: ', supported_endpoints: [/v1/chat/completions]',
    isTranslated: true,
  },
  {
    name: 'the gateway speaks chat completions alone, which the first call finds out',
    serves: CHAT,
    entry: '',
    isTranslated: true,
  },
];

const configOf = (agent: CodingAgent, url: string, more: string): string => `
model_list:
  - model_name: ${agent.model}
    litellm_params: { model: "litellm_proxy/${agent.model}", api_base: "${url}", api_key: sk-upstream${more} }
general_settings: { master_key: ${KEY} }
`;

async function play(run: InteropRun, agent: CodingAgent, installed: string, way: Way): Promise<string> {
  const folder = realpathSync(run.folder());
  const script = toolScript(agent.calls(folder), CONTENT);
  let calls = 0;
  const rig = await startRig(run, {
    demo: {
      ...(way.serves === undefined ? {} : { serves: way.serves }),
      script: (body, model) => {
        calls += 1;
        return script(body, model);
      },
    },
    config: (demo) => configOf(agent, demo.url, way.entry),
  });
  const { code, out, err, note } = await runAgent(run, agent, { installed, folder, url: rig.url, key: KEY });
  const told = `${agent.name} said\n${out.slice(-2_000)}\n${err.slice(-2_000)}`;
  assert.equal(code, 0, told);
  assert.equal(note, `${CONTENT}\n`, told);
  assert.ok(out.includes(ARRIVED), told);
  const rows = await until('the rows', async () => {
    const found = await rig.rows();
    return found.length >= calls ? found : null;
  });
  assert.equal(rows.length, calls);
  assert.ok(calls >= 3, `${calls} calls`); // two calls of tools, and the text
  for (const row of rows) holds(row, agent, agent.sessionOf(out));
  const upstream = rig.demo.seen.filter(({ path }) => path.startsWith('/v1/chat/completions'));
  assert.equal(upstream.length, way.isTranslated ? calls : 0);
  await rig.stop();
  return `${calls} calls, one session`;
}

/** A key that the proxy does not know ends the run at once, and the user reads why. */
async function refused(run: InteropRun, agent: CodingAgent, installed: string): Promise<string> {
  const folder = run.folder();
  const rig = await startRig(run, { config: (demo) => configOf(agent, demo.url, '') });
  const key = 'sk-nobody';
  const { code, out, err, note } = await runAgent(run, agent, { installed, folder, url: rig.url, key });
  const told = `${agent.name} said\n${out.slice(-2_000)}\n${err.slice(-2_000)}`;
  assert.notEqual(code, 0, told);
  assert.equal(note, null);
  assert.match(`${out}${err}`, /Invalid proxy server token/, told);
  assert.equal(rig.demo.seen.length, 0);
  await rig.stop();
  return '';
}

/** A row of a call that went well. */
function holds(row: Row, agent: CodingAgent, session: string | undefined): void {
  const { status, end_reason, http_status, model_group, call_type, session_id, metadata } = row;
  assert.deepEqual(
    { status, end_reason, http_status, model_group, call_type, session_id },
    {
      status: 'success',
      end_reason: 'complete',
      http_status: 200,
      model_group: agent.model,
      call_type: agent.callType,
      session_id: session,
    },
  );
  assert.deepEqual((metadata as Row)['warnings'], []);
}

function casesOf(run: InteropRun, agent: CodingAgent): readonly Case[] {
  let installed = '';
  let missing: string | null = null;
  try {
    installed = installAgent(run, agent);
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    missing = error.message;
  }
  return [
    ...WAYS.map((way) => ({
      name: `${agent.name}: ${way.name}`,
      missing,
      play: () => play(run, agent, installed, way),
    })),
    { name: `${agent.name}: a wrong key`, missing, play: () => refused(run, agent, installed) },
  ];
}

export const agents: Suite = {
  name: 'agents',
  about: 'Claude Code, Codex CLI and Gemini CLI (npm) write and read a file through the proxy',
  prepare: (run) =>
    Promise.resolve({
      software: CODING_AGENTS.map((agent) => agent.package).join(', '),
      cases: CODING_AGENTS.flatMap((agent) => casesOf(run, agent)),
    }),
};
