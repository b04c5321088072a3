// What a user sets here and the OpenHands agent server obeys: secrets, MCP servers, confirmation; and a conversation that is
// deleted here, which ends there.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bubblewrapFor } from '../../../platform/sandboxes/isolation.ts';
import { toolOutputs, toolsOf } from '../../../proxy/cli/sandbox-script.ts';
import type { Script } from '../../../proxy/demo-gateway/compose.ts';
import {
  agentPython,
  executionStatus,
  finished,
  outputOf,
  say,
  scriptFor,
  specOf,
} from '../harness/agent.ts';
import { PlatformServer, type Conversation, type Json } from '../harness/platform-server.ts';
import { packageVersion, type PythonEnvironment } from '../harness/python.ts';
import { until, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

const PROGRAMS = join(import.meta.dirname, '..', 'programs');
const TOOL = 'multiply_for_interop';
const SECRET = 'INTEROP_SECRET';
/** Commands that no other program of the machine runs. */
const LONG_SLEEP = 'sleep 604.8';

const commands = scriptFor('echo nothing-was-asked');
/** `MULTIPLY` of the user calls the tool of the MCP server. */
const script: Script = (body, model) => {
  const messages = body['messages'] as readonly Json[];
  const isAsked =
    JSON.stringify(messages.at(-1)).includes('MULTIPLY') && messages.at(-1)?.['role'] === 'user';
  const tool = toolsOf(body).find((name) => name.includes(TOOL));
  if (!isAsked || tool === undefined) return commands(body, model);
  return { tool, arguments: { a: 6, b: 7 } };
};

/** Files below a folder that hold a text. */
function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(text));
}

/** Whether a process of this machine was started with exactly these words. */
function runs(command: string): boolean {
  const line = `${command.replaceAll(' ', '\0')}\0`;
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === line;
    } catch {
      return false; // it has ended
    }
  });
}

/**
 * Confirms what the agent waits with, until it goes on. The agent server answers "success" and does nothing while the run
 * that led to the question is being wound up (event_service.py, `respond_to_confirmation`): its clients ask again.
 */
async function accept(server: PlatformServer, conversation: Conversation): Promise<number> {
  let times = 0;
  const path = `/api/conversations/${conversation.id}/events/respond_to_confirmation`;
  await until('the end of the waiting', async () => {
    if ((await executionStatus(server, conversation)) !== 'waiting_for_confirmation') return true;
    await server.ofRuntime(conversation.sandbox, 'POST', path, { accept: true });
    times += 1;
    return null;
  });
  return times;
}

function casesOf(
  run: InteropRun,
  environment: PythonEnvironment,
  isolation: 'bubblewrap' | 'none',
): readonly Case[] {
  const value = `value-${randomBytes(12).toString('hex')}`;
  let shared: { readonly server: PlatformServer; readonly first: Conversation } | null = null;
  const opened = (): { readonly server: PlatformServer; readonly first: Conversation } => {
    if (shared === null) throw new Error('the first conversation did not come about');
    return shared;
  };
  /** Another one in the same sandbox. */
  const another = (text: string): Promise<Conversation> => {
    const { server, first } = opened();
    return server.converse(text, { llm_model: 'demo', sandbox_id: first.sandbox.id });
  };
  return [
    {
      name: 'a stored secret arrives in a command, and no file holds it',
      play: async () => {
        const base = specOf(environment);
        const spec = { ...base, readable_paths: [...environment.folders, PROGRAMS] };
        const server = await PlatformServer.start(run, { isolation, spec, script });
        await server.api('POST', '/secrets', { name: SECRET, value, description: 'for interop' });
        const first = await server.converse(
          `RUN:echo digest-$(printf %s $${SECRET} | sha256sum | cut -c1-16); echo plain-$${SECRET}`,
          { llm_model: 'demo' },
        );
        shared = { server, first };
        const digest = createHash('sha256').update(value).digest('hex').slice(0, 16);
        const output = await outputOf(server, first, new RegExp(`digest-${digest}`));
        assert.ok(!output.includes(value), 'the model is not shown the value');
        await finished(server, first);
        assert.deepEqual(filesWith(server.dataDir, value), []);
        return isolation;
      },
    },
    {
      name: 'the tool of a stdio MCP server is offered to the model, and answers it',
      play: async () => {
        const { server } = opened();
        const { python } = environment;
        const own = { transport: 'stdio', command: python, args: [join(PROGRAMS, 'mcp-server.py')] };
        await server.api('POST', '/settings', { agent_settings_diff: { mcp_config: { own } } });
        const conversation = await another('MULTIPLY');
        await outputOf(server, conversation, /\b42\b/);
        await finished(server, conversation);
        const offered = server.bodies(conversation.id).flatMap(toolsOf);
        await server.api('POST', '/settings', { agent_settings_diff: { mcp_config: null } });
        return offered.find((name) => name.includes(TOOL)) ?? '';
      },
    },
    {
      name: 'confirmation mode: the command waits for its user, runs when accepted, and the conversation finishes',
      play: async () => {
        const { server, first } = opened();
        const settings = { confirmation_mode: true, security_analyzer: 'none' };
        await server.api('POST', '/settings', { conversation_settings_diff: settings });
        const conversation = await another('RUN:touch it-ran; echo confirmed-$((40+2))');
        await until('the question', async () => {
          const [info] = (await server.api('GET', `/app-conversations?ids=${conversation.id}`)) as [Json];
          return info['execution_status'] === 'waiting_for_confirmation' ? true : null;
        });
        const ran = join(server.dataDir, 'sandboxes', first.sandbox.id, 'workspace', 'it-ran');
        assert.ok(!existsSync(ran), 'nothing has run');
        assert.deepEqual(server.bodies(conversation.id).flatMap(toolOutputs), []);
        const times = await accept(server, conversation);
        await outputOf(server, conversation, /confirmed-42/);
        assert.ok(existsSync(ran));
        await finished(server, conversation);
        await server.api('POST', '/settings', { conversation_settings_diff: { confirmation_mode: false } });
        return `accepted ${times} times`;
      },
    },
    {
      name: 'a conversation that is deleted here ends on the agent server, with its command',
      play: async () => {
        const { server, first } = opened();
        const conversation = await another(`RUN:${LONG_SLEEP}`);
        await until('the command', () => (runs(LONG_SLEEP) ? true : null));
        const startedAt = performance.now();
        const removed = (await server.api('DELETE', `/app-conversations/${conversation.id}`)) as Json;
        const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
        assert.equal(removed['detail'], 'deleted on its agent server too');
        await assert.rejects(executionStatus(server, conversation), /answered 404/);
        await until('the end of the command', () => (runs(LONG_SLEEP) ? null : true));
        await say(server, first, 'RUN:echo on-$((40+2))');
        await outputOf(server, first, /on-42/);
        await finished(server, first);
        return `DELETE took ${took}; the other one goes on`;
      },
    },
    {
      name: 'the last one takes the sandbox along; no file has held the secret',
      play: async () => {
        const { server, first } = opened();
        const list = (await server.api('GET', '/app-conversations/search')) as { items: readonly Json[] };
        const [last, ...others] = list.items.map(({ id }) => String(id));
        for (const id of others) await server.api('DELETE', `/app-conversations/${id}`);
        assert.deepEqual(filesWith(server.dataDir, value), [], 'histories of ended shells included');
        await server.api('DELETE', `/app-conversations/${last}`);
        assert.deepEqual(await server.api('GET', `/sandboxes?id=${first.sandbox.id}`), [null]);
        return `${others.length + 1} conversations`;
      },
    },
  ];
}

export const agentSettings: Suite = {
  name: 'agent-settings',
  about: 'settings that the OpenHands agent server obeys: secrets, MCP servers, confirmation; deletion',
  prepare: async (run) => {
    const environment = agentPython();
    const version = packageVersion(environment, 'openhands-agent-server');
    const works = (await bubblewrapFor('auto', process.env['PATH'] ?? '')) !== null;
    return {
      software: `openhands-agent-server ${version}, mcp ${packageVersion(environment, 'mcp')}, Python ${environment.version}`,
      cases: casesOf(run, environment, works ? 'bubblewrap' : 'none'),
    };
  },
};
