// An agent server that does not answer does not hold a call for ever, however slowly it goes on.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Secret } from '../../../config/secret.ts';
import { Refusal } from '../../../platform/api/refusal.ts';
import { NOTHING_REPORTED, type Conversation } from '../../../platform/conversations/conversation.ts';
import { Runtime } from '../../../platform/runtime/runtimes.ts';
import { KEEPS_IDLE } from '../../support/keeps-idle.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

const CONVERSATION: Conversation = {
  id: '0123456789abcdef0123456789abcdef',
  userId: '',
  title: null,
  sandboxId: 'a',
  parentId: null,
  facts: {
    selected_repository: null,
    selected_branch: null,
    git_provider: null,
    trigger: null,
    pr_number: [],
    public: null,
    llm_model: null,
    llm_profile: null,
  },
  tags: {},
  maxBudget: null,
  key: new Secret('key'),
  headers: [],
  runtime: NOTHING_REPORTED,
  createdMs: 0,
  updatedMs: 0,
  revision: 1,
};

async function runtimeAt(t: Test, server: Server, timeoutMs = PATIENCE_MS): Promise<Runtime> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const place = { handle: '1', url: `http://127.0.0.1:${port}`, port, workingDir: '/w' };
  return new Runtime(CONVERSATION, place, new Secret('key'), timeoutMs);
}

/** Status and text of the refusal. */
async function refused(act: Promise<unknown>): Promise<readonly [number, string]> {
  const thrown: unknown = await act.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Refusal)) throw new Error(`not refused: ${String(thrown)}`);
  return [thrown.status, (thrown.body as { readonly detail: string }).detail];
}

const LATE_MS = 200;
const LATE = [504, 'The agent server did not answer within 0.2 s'];
const GET = { method: 'GET', path: '/file/download' } as const;

t.test('one that says nothing', async (t) => {
  const runtime = await runtimeAt(
    t,
    createServer(KEEPS_IDLE, () => undefined),
    LATE_MS,
  );
  t.same(await refused(runtime.ask(GET)), LATE);
});

t.test('one that goes on with a byte at a time', async (t) => {
  const server = createServer(KEEPS_IDLE, (_req, res) => {
    const drip = setInterval(() => res.write('x'), 20);
    res.once('close', () => clearInterval(drip));
  });
  t.same(await refused((await runtimeAt(t, server, LATE_MS)).ask(GET)), LATE);
});

t.test('one that hangs up in the middle, or is not there', async (t) => {
  const server = createServer(KEEPS_IDLE, (_req, res) => {
    res.writeHead(200, { 'content-length': '100' });
    res.write('x', () => res.destroy());
  });
  const runtime = await runtimeAt(t, server);
  t.same(await refused(runtime.ask(GET)), [502, 'The agent server did not answer']);
  server.close();
  t.same(await refused(runtime.ask(GET)), [502, 'The agent server did not answer']);
});

t.test('one that says more than is taken', async (t) => {
  const server = createServer(KEEPS_IDLE, (_req, res) => res.end(Buffer.alloc(3 * 1024 * 1024)));
  const runtime = await runtimeAt(t, server);
  const [status, text] = await refused(runtime.ask({ ...GET, maxBytes: 2 * 1024 * 1024 }));
  t.equal(status, 413);
  t.match(text, /larger than 2 MiB/);
});
