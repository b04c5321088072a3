// A user's day on the platform interface, with the platform's published client and a plain OpenAI client: settings, a
// profile with headers, a conversation with tags, calls through its own base URL, the report by tag, a sandbox that is
// paused and resumed. See docs/platform.md. Run it against a server that serves `platform:`:
//   node docs/examples/platform-day.ts --url http://127.0.0.1:4000 --session-key KEY --master-key KEY --model demo
import { parseArgs } from 'node:util';
import { CloudClient } from '@openhands/typescript-client/clients';
import OpenAI from 'openai';

export interface Day {
  readonly url: string;
  readonly sessionKey: string;
  /** For the report; a user does not need it. */
  readonly masterKey: string;
  /** A model that the server serves. */
  readonly model: string;
  readonly say: (line: string) => void;
}

interface Conversation {
  readonly id: string;
  readonly sandbox_id: string;
  readonly llm_base_url: string;
  readonly llm_api_key: string;
  readonly metrics: { readonly accumulated_cost: number } | null;
}

interface Task {
  readonly id: string;
  readonly status: string;
  readonly detail: string | null;
  readonly app_conversation_id: string;
}

const POLL_MS = 200;

/** Plays the day; throws when something is not as it should be. */
export async function playDay({ url, sessionKey, masterKey, model, say }: Day): Promise<void> {
  const platform = new CloudClient({ host: url, apiKey: sessionKey });

  await platform.saveSettings({ app_preferences: { language: 'en' } });
  const headers = { 'X-OpenHands-Project': 'proj-42', 'X-OpenHands-User-Id': 'alice' };
  await platform.saveProfile('Default', { llm: { model, extra_headers: headers } });
  await platform.activateProfile('Default');
  const { profiles, active_profile: active } = await platform.listProfiles();
  say(`settings are stored; ${profiles.length} profile, ${String(active)} is active`);

  const tags = { costcenter: '4711', project: 'proj42' };
  const begun = await platform.request<Task>({
    method: 'POST',
    path: '/api/v1/app-conversations',
    body: { title: 'A working day', tags },
  });
  const task = await ended(platform, begun);
  const conversation = await read(platform, task.app_conversation_id);
  say(`conversation ${conversation.id} is ready; its runtime calls ${conversation.llm_base_url}`);

  const runtime = new OpenAI({ baseURL: conversation.llm_base_url, apiKey: conversation.llm_api_key });
  for (const content of ['Good morning', 'What is left to do?']) {
    const answer = await runtime.chat.completions.create({ model, messages: [{ role: 'user', content }] });
    say(`asked ${JSON.stringify(content)}, got ${answer.usage?.total_tokens ?? 0} tokens`);
  }
  const stream = await runtime.chat.completions.create({
    model,
    stream: true,
    messages: [{ role: 'user', content: 'Go on' }],
  });
  for await (const event of stream)
    if (event.choices[0]?.finish_reason) say(`a stream ended with ${event.choices[0].finish_reason}`);

  const { metrics } = await read(platform, conversation.id);
  say(`the conversation has cost ${(metrics?.accumulated_cost ?? 0).toFixed(6)} USD so far`);
  const query = 'start_date=2000-01-01&end_date=2099-12-31&tag=costcenter:4711';
  const report = await fetch(`${url}/spend/logs/ui?${query}`, {
    headers: { authorization: `Bearer ${masterKey}` },
  });
  const { data } = (await report.json()) as {
    readonly data: readonly { readonly spend: number; readonly session_id: string }[];
  };
  const own = data.filter(({ session_id: session }) => session.replaceAll('-', '') === conversation.id);
  if (own.length !== 3) throw new Error(`the report shows ${own.length} of 3 calls`);
  say(
    `the report for costcenter:4711 has ${own.length} calls of it, ${own.reduce((sum, { spend }) => sum + spend, 0).toFixed(6)} USD`,
  );

  if (conversation.sandbox_id === '') say('sandboxes are off on this server');
  else {
    for (const [act, status] of [
      ['pause', 'PAUSED'],
      ['resume', 'RUNNING'],
    ] as const) {
      await (act === 'pause'
        ? platform.pauseSandbox(conversation.sandbox_id)
        : platform.resumeSandbox(conversation.sandbox_id));
      const [sandbox] = await platform.getSandboxes([conversation.sandbox_id]);
      if (sandbox?.status !== status)
        throw new Error(`the sandbox is ${String(sandbox?.status)} after ${act}`);
      say(`the sandbox is ${status}`);
    }
  }
  await platform.deleteConversation(conversation.id);
  const [gone] = await platform.getConversations([conversation.id]);
  if (gone !== null) throw new Error('the conversation is still there');
  say('the conversation is deleted; its key is refused, its spend stays');
}

async function ended(platform: CloudClient, first: Task): Promise<Task> {
  for (let task = first; ;) {
    if (task.status === 'READY') return task;
    if (task.status === 'ERROR') throw new Error(task.detail ?? 'the conversation was not started');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    task = (await platform.getConversationStartTask(task.id)) as unknown as Task;
  }
}

async function read(platform: CloudClient, id: string): Promise<Conversation> {
  const [conversation] = (await platform.getConversations([
    id,
  ])) as unknown as readonly (Conversation | null)[];
  if (conversation === null || conversation === undefined) throw new Error(`there is no conversation ${id}`);
  return conversation;
}

if (process.argv[1] === import.meta.filename) {
  const text = { type: 'string' } as const;
  const options = { url: text, 'session-key': text, 'master-key': text, model: text };
  const { values } = parseArgs({ options });
  await playDay({
    url: values.url ?? 'http://127.0.0.1:4000',
    sessionKey: values['session-key'] ?? '',
    masterKey: values['master-key'] ?? '',
    model: values.model ?? 'demo',
    say: (line) => void process.stdout.write(`${line}\n`),
  });
}
