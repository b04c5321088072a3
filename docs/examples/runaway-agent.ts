// An agent that goes in circles, through a real proxy in front of the demo gateway: once without the runaway brake and once
// with it. Draws what both cost over time: `node docs/examples/runaway-agent.ts > docs/images/runaway-agent.svg`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import OpenAI from 'openai';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openLog } from '../../proxy/observability/logger.ts';
import { startProxy } from '../../proxy/server/proxy.ts';

const RUN_MS = 20_000;
/** What the tool takes. */
const TOOL_MS = 100;
const KEY = 'sk-example';

/** A call as the agent saw it end. */
interface Seen {
  readonly atMs: number;
  readonly calls: number;
  readonly usd: number;
  readonly brake: string | null;
}

interface Run {
  readonly seen: readonly Seen[];
  /** What the SDK raised; null: the agent was still at it. */
  readonly error: string | null;
}

const config = (url: string, brake: string): string => `
model_list:
  - model_name: agent-model
    litellm_params: { model: openai/acme/demo-loop, api_base: "${url}/compat/v1", input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
general_settings: { master_key: ${KEY} }
${brake}
`;

async function run(brake: string): Promise<Run> {
  const demo = await startDemoGateway({});
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'));
  const configPath = join(folder, 'gateway.yaml');
  writeFileSync(configPath, config(demo.url, brake));
  const { log } = openLog('silent', { write: () => undefined });
  const place = { configPath, dataDir: join(folder, 'data'), host: '127.0.0.1', port: 0 };
  const proxy = await startProxy({ ...place, env: {}, log });
  try {
    return await loop(proxy.url);
  } finally {
    await proxy.stop({ minMs: 0, maxMs: 0 });
    await demo.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The agent: asks, calls the tool it is told to call, asks again. The tool finds nothing, and the model does not mind. */
async function loop(url: string): Promise<Run> {
  const defaultHeaders = { 'x-litellm-session-id': 'runaway' };
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, defaultHeaders });
  const read = { name: 'read_log', parameters: { type: 'object', properties: { path: { type: 'string' } } } };
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You find out why the build fails. '.repeat(100) },
    { role: 'user', content: 'Why does the build fail?' },
  ];
  const seen: Seen[] = [];
  const startedAt = performance.now();
  let usd = 0;
  while (performance.now() - startedAt < RUN_MS) {
    try {
      const tools = [{ type: 'function' as const, function: read }];
      const create = client.chat.completions.create({ model: 'agent-model', messages, tools });
      const { data, response } = await create.withResponse();
      usd += Number(response.headers.get('x-litellm-response-cost') ?? 0);
      const brake = response.headers.get('x-litellm-brake');
      seen.push({ atMs: performance.now() - startedAt, calls: seen.length + 1, usd, brake });
      const [choice] = data.choices;
      if (choice === undefined) throw new Error('no choice');
      messages.push(choice.message);
      for (const { id } of choice.message.tool_calls ?? []) {
        await wait(TOOL_MS);
        const content = 'a line of the log that says nothing\n'.repeat(60);
        messages.push({ role: 'tool', tool_call_id: id, content });
      }
    } catch (error) {
      if (error instanceof OpenAI.BadRequestError) return { seen, error: error.message };
      throw error;
    }
  }
  return { seen, error: null };
}

const WIDTH = 900;
const PANEL = { left: 70, width: 790, height: 190 };
const [PLAIN, BRAKED] = ['#c2410c', '#1d4ed8'];

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const text = (x: number, y: number, content: string, more = ''): string =>
  `  <text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(content)}</text>\n`;

/** A number that an axis ends with: 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((one) => one * power >= value) ?? 10) * power;
}

interface Quantity {
  readonly title: string;
  readonly read: (seen: Seen) => number;
  readonly show: (value: number) => string;
}

function panel(top: number, quantity: Quantity, plain: Run, braked: Run): string {
  const { title, read, show } = quantity;
  const { left, width, height } = PANEL;
  const most = roundUp(Math.max(...plain.seen.map(read)));
  const x = (ms: number): number => left + (ms / RUN_MS) * width;
  const y = (value: number): number => top + height - (value / most) * height;
  const parts = [text(left, top - 12, title, 'font-weight="600"')];
  for (let i = 0; i <= 4; i++) {
    const at = y((most * i) / 4);
    parts.push(`  <line x1="${left}" x2="${left + width}" y1="${at}" y2="${at}" stroke="#e5e7eb"/>\n`);
    parts.push(text(left - 8, at + 4, show((most * i) / 4), 'text-anchor="end" fill="#6b7280"'));
    const ms = (RUN_MS * i) / 4;
    parts.push(text(x(ms), top + height + 18, `${ms / 1000} s`, 'text-anchor="middle" fill="#6b7280"'));
  }
  const lineOf = ({ seen }: Run, color: string): string => {
    const points = seen.map((one) => `${x(one.atMs).toFixed(1)},${y(read(one)).toFixed(1)}`).join(' ');
    return `  <polyline points="${points}" fill="none" stroke="${color}" stroke-width="2"/>\n`;
  };
  parts.push(lineOf(plain, PLAIN), lineOf(braked, BRAKED));
  const [last, stopped] = [plain.seen.at(-1), braked.seen.at(-1)];
  if (last === undefined || stopped === undefined) throw new Error('nothing was seen');
  parts.push(
    text(
      x(last.atMs) - 6,
      y(read(last)) - 8,
      `without the brake: ${show(read(last))}`,
      `text-anchor="end" fill="${PLAIN}"`,
    ),
    `  <circle cx="${x(stopped.atMs).toFixed(1)}" cy="${y(read(stopped)).toFixed(1)}" r="4" fill="${BRAKED}"/>\n`,
    text(
      x(stopped.atMs) + 10,
      y(read(stopped)) - 8,
      `stopped: ${show(read(stopped))}`,
      `fill="${BRAKED}" stroke="#ffffff" stroke-width="4" paint-order="stroke"`,
    ),
  );
  return parts.join('');
}

/** Lines of at most so many characters. */
function wrapped(content: string, most: number): string[] {
  const lines = [''];
  for (const word of content.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > most) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}

const plain = await run('');
if (plain.error !== null) throw new Error(plain.error);
const braked = await run('brake: { mode: enforce, slow_seconds: 1 }');
if (braked.error === null) throw new Error('the brake has not stopped the agent');
const usd = (value: number): string => `$${value.toFixed(value > 0 && value < 1 ? 3 : 0)}`;
const marks = braked.seen
  .filter(({ brake }) => brake !== null)
  .map(({ calls, brake }) => `call ${calls}: ${brake}`);
const below = [
  'With the brake, the client was told (x-litellm-brake):',
  ...marks.map((mark) => `    ${mark}`),
  ...wrapped(`and its SDK raised: ${braked.error}`, 125),
];
const height = 590 + below.length * 18;
const title = 'The same agent in a loop, without and with the runaway brake';
process.stdout.write(
  `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t">\n` +
    `  <title id="t">${title}</title>\n` +
    '  <style>text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; white-space: pre; }</style>\n' +
    `  <rect width="${WIDTH}" height="${height}" fill="#ffffff"/>\n` +
    text(PANEL.left, 32, title, 'style="font-size: 17px" font-weight="600"') +
    panel(
      80,
      { title: 'LLM calls', read: ({ calls }) => calls, show: (value) => String(value) },
      plain,
      braked,
    ) +
    panel(335, { title: 'Cost, US dollars', read: (one) => one.usd, show: usd }, plain, braked) +
    below.map((line, i) => text(PANEL.left, 580 + i * 18, line, 'fill="#111827"')).join('') +
    '</svg>\n',
);
