// The OpenHands agent server as sandbox of the platform interface: conversations that run commands, behind bubblewrap and
// without, a server that is killed in the middle, pause and resume, two conversations in one sandbox, models by name.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { bubblewrapFor } from '../../../platform/sandboxes/isolation.ts';
import { commandFor, reportOf } from '../../../proxy/cli/sandbox-script.ts';
import { runCli } from '../../support/cli.ts';
import { agentPython, finished, outputOf, say, scriptFor, specOf } from '../harness/agent.ts';
import { packageVersion, type PythonEnvironment } from '../harness/python.ts';
import { MODELS, PlatformServer, type Conversation, type Json } from '../harness/platform-server.ts';
import { until, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

/** A file of the machine that no sandbox may show. */
const PRIVATE_FILE = '/etc/shadow';

const script = scriptFor(commandFor([PRIVATE_FILE]));

/** Every call that arrived stands in the rows of its conversation. */
async function assertRows(server: PlatformServer, { id }: Conversation, tag: string | null): Promise<number> {
  const count = server.bodies(id).length;
  const rows = await until('the rows', async () => {
    const found = await server.rows(id);
    return found.length >= count ? found : null;
  });
  for (const row of rows) {
    assert.equal(row['session_id'], id);
    if (tag !== null)
      assert.ok((row['request_tags'] as readonly string[]).includes(tag), `a row lacks ${tag}`);
  }
  const answered = rows.filter(({ status }) => status === 'success');
  assert.ok(answered.length >= 2 && answered.every(({ spend }) => Number(spend) >= 0));
  return rows.length;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

function casesOf(
  run: InteropRun,
  environment: PythonEnvironment,
  noBubblewrap: string | null,
): readonly Case[] {
  const spec = specOf(environment);
  let shared: { readonly server: PlatformServer; readonly first: Conversation } | null = null;
  const opened = (): { readonly server: PlatformServer; readonly first: Conversation } => {
    if (shared === null) throw new Error('the first conversation did not come about');
    return shared;
  };
  const start = (isolation: 'bubblewrap' | 'none'): Promise<PlatformServer> =>
    PlatformServer.start(run, { isolation, spec, script });
  const commandCase = async (isolation: 'bubblewrap' | 'none'): Promise<string> => {
    const server = await start(isolation);
    const conversation = await server.converse('Run the command.', {
      llm_model: 'demo',
      tags: { case: 'first' },
    });
    const report = reportOf(await outputOf(server, conversation, /sandbox-check-48/), 1);
    assert.equal(report?.canWrite, true, 'the command could write into its folder');
    if (isolation === 'bubblewrap') assert.equal(report.readable[0], false, `${PRIVATE_FILE} is not there`);
    await finished(server, conversation);
    const rows = await assertRows(server, conversation, 'case:first');
    shared = { server, first: conversation };
    return `READY after ${seconds(conversation.readyMs)}, ${rows} rows`;
  };
  return [
    { name: 'a conversation runs a command, no isolation', play: () => commandCase('none') },
    {
      name: 'a conversation runs a command behind bubblewrap',
      missing: noBubblewrap,
      play: () => commandCase('bubblewrap'),
    },
    {
      name: 'two conversations in one sandbox, each with rows of its own',
      play: async () => {
        const { server, first } = opened();
        const second = await server.converse('RUN:echo second-$((40+2))', {
          llm_model: 'demo',
          sandbox_id: first.sandbox.id,
          tags: { case: 'second' },
        });
        assert.equal(second.sandbox.id, first.sandbox.id);
        await outputOf(server, second, /second-42/);
        await finished(server, second);
        const rows = await assertRows(server, second, 'case:second');
        await assertRows(server, first, 'case:first');
        return `READY after ${seconds(second.readyMs)}, ${rows} rows`;
      },
    },
    {
      name: 'every model of the list by its name',
      play: async () => {
        const { server, first } = opened();
        for (const name of MODELS) {
          const more = { llm_model: name, sandbox_id: first.sandbox.id };
          const conversation = await server.converse('RUN:echo model-$((40+2))', more);
          await outputOf(server, conversation, /model-42/);
          await finished(server, conversation);
          await assertRows(server, conversation, null);
          for (const row of await server.rows(conversation.id)) assert.equal(row['model_group'], name);
        }
        return MODELS.join(', ');
      },
    },
    {
      name: 'tags that are set on the agent server stand in the rows, its status is known here',
      play: async () => {
        const { server, first } = opened();
        await server.ofRuntime(first.sandbox, 'PATCH', `/api/conversations/${first.id}`, {
          tags: { case: 'first', project: 'p42' },
        });
        const infoOf = async (): Promise<Json> => {
          const [info] = (await server.api('GET', `/app-conversations?ids=${first.id}`)) as [Json];
          return info;
        };
        await until('the tags', async () =>
          ((await infoOf())['tags'] as Json)['project'] === 'p42' ? true : null,
        );
        const before = (await server.rows(first.id)).length;
        await say(server, first, 'RUN:echo tagged-$((40+2))');
        await outputOf(server, first, /tagged-42/);
        await until('the status', async () =>
          (await infoOf())['execution_status'] === 'finished' ? true : null,
        );
        const rows = (await server.rows(first.id)).filter((row) =>
          (row['request_tags'] as readonly string[]).includes('project:p42'),
        );
        assert.ok(rows.length >= 2, 'the rows of the new calls have the tag');
        assert.equal(rows.length, (await server.rows(first.id)).length - before, 'older rows do not');
        return `${rows.length} rows`;
      },
    },
    {
      name: 'pause in the middle of a command, resume, and on it goes',
      play: async () => {
        const { server, first } = opened();
        const { id } = first.sandbox;
        const before = server.bodies(first.id).length;
        await say(server, first, 'RUN:sleep 2; echo paused-$((40+2))');
        await until('the call that asks for the command', () =>
          server.bodies(first.id).length > before ? true : null,
        );
        await server.api('POST', `/sandboxes/${id}/pause`);
        const atPause = server.demo.seen.length;
        const [{ status }] = (await server.api('GET', `/sandboxes?id=${id}`)) as [Json];
        assert.equal(status, 'PAUSED');
        await new Promise((wake) => setTimeout(wake, 4_000)); // longer than the command
        assert.equal(server.demo.seen.length, atPause, 'nothing is called while it is paused');
        await server.api('POST', `/sandboxes/${id}/resume`);
        await outputOf(server, first, /paused-42/);
        await finished(server, first);
        return `${await assertRows(server, first, 'case:first')} rows`;
      },
    },
    {
      name: 'kill -9 of the server in the middle: taken over, and on it goes',
      play: async () => {
        const { server, first } = opened();
        const before = server.bodies(first.id).length;
        await say(server, first, 'RUN:sleep 3; echo survived-$((40+2))');
        await until('the call that asks for the command', () =>
          server.bodies(first.id).length > before ? true : null,
        );
        await server.kill();
        const alive = (await server.ofRuntime(first.sandbox, 'GET', '/alive')) as Json;
        assert.equal(alive['status'], 'ok', 'the sandbox outlives the server');
        await server.startAgain();
        const after = await server.sandbox(first.sandbox.id);
        assert.deepEqual(after, first.sandbox, 'it is the same one, with the same key');
        await outputOf(server, first, /survived-42/);
        await finished(server, first);
        const rows = await assertRows(server, first, 'case:first');
        await server.api('DELETE', `/sandboxes/${first.sandbox.id}`);
        return `${rows} rows`;
      },
    },
    {
      name: 'throughline sandbox-check finds nothing wrong',
      play: async () => {
        const { server } = opened();
        const flags = ['--config', server.configPath, '--data-dir', join(server.dataDir, '..', 'other')];
        const env = { PATH: process.env['PATH'] ?? '' };
        const { code, out, err } = await runCli(run, ['sandbox-check', ...flags], { env });
        assert.equal(code, 0, `${out}${err}`);
        return /READY after [\d.]+ s/.exec(out)?.[0] ?? '';
      },
    },
  ];
}

export const agentServer: Suite = {
  name: 'agent-server',
  about: 'the OpenHands agent server (PyPI) as sandbox of the platform interface',
  prepare: async (run) => {
    const environment = agentPython();
    const version = packageVersion(environment, 'openhands-agent-server');
    const works = (await bubblewrapFor('auto', process.env['PATH'] ?? '')) !== null;
    return {
      software: `openhands-agent-server ${version}, Python ${environment.version}`,
      cases: casesOf(
        run,
        environment,
        works ? null : 'bubblewrap does not work here - install bubblewrap and allow user namespaces',
      ),
    };
  },
};
