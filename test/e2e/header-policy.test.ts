// Whatever headers a client sends under whatever policy, `explain` prints exactly the list that an upstream reads off
// the wire, and that list keeps its promises: nothing twice that may stand once, nothing that is never passed on.
import { gzipSync } from 'node:zlib';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { runWithin } from '../support/cli.ts';
import { KEY, lastSeen, raw, startRig, type Rig } from '../support/rig.ts';

const BODY = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
const UPSTREAM_KEY = 'sk-upstream-secret';

interface Policy {
  readonly prefixes: readonly string[];
  readonly deny: readonly string[];
  readonly forward: boolean;
  readonly gateway: string;
  readonly extra: string;
}

const POLICIES: readonly Policy[] = [
  { prefixes: ['x-', 'content-'], deny: [], forward: true, gateway: 'litellm', extra: 'X-Team: red' },
  {
    prefixes: ['x', 'acc', 't', 'c', 'a', 'f'],
    deny: ['x-internal-*', 'accept'],
    forward: true,
    gateway: 'plain',
    extra: 'Accept-Language: de',
  },
  {
    prefixes: ['x', 'c', 'h', 'k', 'p', 'u', 'r', 'd', 'e'],
    deny: [],
    forward: true,
    gateway: 'bifrost',
    extra: 'X-BF-Dim-Run: operator',
  },
  { prefixes: ['x-'], deny: [], forward: true, gateway: 'portkey', extra: 'Accept: text/x' },
  { prefixes: ['x-'], deny: [], forward: true, gateway: 'none', extra: 'X-LiteLLM-Session-Id: fixed' },
  {
    prefixes: ['x-', 'content-'],
    deny: [],
    forward: false,
    gateway: 'litellm',
    extra: 'User-Agent: operator/1',
  },
];

const rigs: Rig[] = [];
for (const { prefixes, deny, forward, gateway, extra } of POLICIES) {
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: m
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: ${UPSTREAM_KEY}, gateway: ${gateway}, extra_headers: { ${extra} } }
    model_info: { tags: [team:blue] }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: ${forward}
  forward_header_prefixes: ${JSON.stringify(prefixes)}
  deny_headers: ${JSON.stringify(deny)}
  accept_compressed_requests: { max_inflated_mb: 1 }
litellm_settings: { extra_spend_tag_headers: [x-team, user-agent] }
`,
  });
  rigs.push(rig);
}

type Field = readonly [name: string, value: string];

/** One call over the wire, its names as they are. @returns what the upstream read, lower-case names */
async function sentOf(rig: Rig, fields: readonly Field[], body: Buffer): Promise<Field[]> {
  const head: Field[] = [
    ['Host', 'localhost'],
    ['Authorization', `Bearer ${KEY}`],
    ['Content-Length', String(body.length)],
  ];
  const lines = [...head, ...fields].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const request = Buffer.from(`POST /v1/chat/completions HTTP/1.1\r\n${lines}\r\n`);
  const answer = await raw(rig.port, Buffer.concat([request, body]));
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`the proxy answered ${answer.slice(0, 300)}`);
  const { rawHeaders } = lastSeen(rig);
  const read: Field[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    read.push([(rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '']);
  return read;
}

interface Explained {
  /** `name: value`, secrets masked. */
  readonly sent: readonly string[];
  /** Name and action, one for each header that was looked at. */
  readonly decisions: readonly (readonly [name: string, action: string])[];
}

async function explained(rig: Rig, fields: readonly Field[]): Promise<Explained> {
  const file = join(rig.folder, 'body.json');
  writeFileSync(file, JSON.stringify(BODY));
  const flags = [['Authorization', `Bearer ${KEY}`] as const, ...fields].flatMap(([name, value]) => [
    '--header',
    `${name}: ${value}`,
  ]);
  const { out: text } = await runWithin(
    ['explain', '--config', rig.configPath, '--model', 'm', '--body', file, ...flags],
    { cwd: rig.folder },
  );
  const section = (name: string): string[] =>
    (new RegExp(`\\n${name}[^\\n]*\\n((?:  .*\\n)*)`).exec(text)?.[1] ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(2));
  return {
    sent: section('sent'),
    decisions: section('headers').map((line) => {
      const [action = '', name = ''] = line.split(/ +/);
      return [name, action] as const;
    }),
  };
}

const SENT_ACTIONS: ReadonlySet<string> = new Set(['set', 'forwarded', 'stamped']);
/** What each hop writes itself. */
const OF_THE_HOP: ReadonlySet<string> = new Set(['host', 'connection', 'content-length']);
const NEVER =
  /^(?:content-encoding|content-digest|content-md5|digest|te|trailer|transfer-encoding|keep-alive|upgrade|expect|accept-encoding|cookie|proxy-.*|api-key|x-api-key|x-goog-api-key|x-access-token|x-stainless.*)$/;
const ONCE =
  /^(?:host|content-type|content-length|authorization|user-agent|x-litellm-(?:session-id|end-user-id|timeout)|from|referer|max-forwards|traceparent)$/;
/** What each gateway reads once. */
const ONCE_FOR: Readonly<Record<string, RegExp>> = {
  litellm: /^x-litellm-(?:tags|spend-logs-metadata)$/,
  bifrost: /^x-bf-(?:session-id|lh-user|dim-run)$/,
  portkey: /^x-portkey-(?:trace-id|metadata)$/,
};

/** Why the list is wrong; null = it is as promised. */
function brokenPromise(sent: readonly Field[], told: Explained, { gateway, forward }: Policy): string | null {
  const names = sent.map(([name]) => name);
  const ours = names.filter((name) => !OF_THE_HOP.has(name)).toSorted();
  const toldNames = told.decisions.filter(([, action]) => SENT_ACTIONS.has(action)).map(([name]) => name);
  if (toldNames.toSorted().join() !== ours.join()) return `told ${toldNames.join()}, sent ${ours.join()}`;
  const lines = sent.filter(([name]) => !OF_THE_HOP.has(name)).map(([name, value]) => `${name}: ${value}`);
  const toldLines = told.sent.filter((line) => !line.startsWith('content-length: '));
  const isMasked = (line: string): boolean => line.endsWith('[secret]');
  const open = new Set(toldLines.filter(isMasked).map((line) => line.slice(0, line.indexOf(':'))));
  const shown = lines.filter((line) => !open.has(line.slice(0, line.indexOf(':'))));
  const toldShown = toldLines.filter((line) => !isMasked(line));
  if (shown.toSorted().join('\n') !== toldShown.toSorted().join('\n'))
    return `told\n${toldShown.join('\n')}\nsent\n${shown.join('\n')}`;
  for (const name of names) {
    const plain = name.replaceAll('_', '-');
    if (NEVER.test(plain)) return `${name} was passed on`;
    const once = ONCE.test(plain) || ONCE_FOR[gateway]?.test(plain) === true;
    if (once && names.filter((one) => one.replaceAll('_', '-') === plain).length > 1)
      return `${name} stands twice`;
  }
  if (sent.some(([, value]) => value.includes(KEY))) return 'the key of the caller was passed on';
  const valueOf = (name: string): string | undefined => sent.find(([one]) => one === name)?.[1];
  if (valueOf('authorization') !== `Bearer ${UPSTREAM_KEY}`) return 'not the key of the entry';
  if (gateway === 'litellm' && forward && valueOf('x-litellm-tags')?.startsWith('team:blue') !== true)
    return 'the tags are not those of the request and the entry';
  const users = names.filter((name) => /^(?:x-litellm-(?:customer|end-user)-id)$/.test(name));
  if (gateway === 'litellm' && users.length > 1) return `two say who the end user is: ${users.join()}`;
  return null;
}

const anyCase = (name: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    name,
    name.toUpperCase(),
    name.replace('-', '_'),
    name.replace(/^./, (c) => c.toUpperCase()),
  );
const PLAIN = [
  '1',
  'a, b',
  'x-a',
  `say ${KEY}`,
  'gzip',
  '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
];
const field = fc.tuple(
  fc
    .constantFrom(
      ...[
        'x-a',
        'x-team',
        'x-internal-a',
        'x-forwarded-for',
        'x-forwarded-proto',
        'x-request-id',
        'from',
        'referer',
      ],
      ...[
        'accept',
        'accept-language',
        'accept-encoding',
        'content-language',
        'content-md5',
        'content-digest',
        'digest',
      ],
      ...['x-litellm-session-id', 'x-litellm-end-user-id', 'x-litellm-customer-id', 'x-litellm-tags'],
      ...['x-bf-session-id', 'x-bf-lh-user', 'x-bf-dim-team', 'x-bf-dim-run', 'x-bf-dim-tags'],
      ...[
        'x-portkey-trace-id',
        'x-portkey-metadata',
        'x-stainless-lang',
        'x-api-key',
        'x-goog-api-key',
        'api-key',
      ],
      ...[
        'cookie',
        'x-access-token',
        'te',
        'trailer',
        'keep-alive',
        'proxy-connection',
        'proxy-authorization',
      ],
      ...[
        'traceparent',
        'tracestate',
        'user-agent',
        'max-forwards',
        'x-openhands-session-id',
        'x-litellm-trace-id',
      ],
    )
    .chain(anyCase),
  fc.constantFrom(...PLAIN),
);
/**
 * An unfit session id would be replaced by one that is made anew for each call, and two different keys under one name
 * are refused.
 */
const settled = (fields: readonly Field[]): Field[] =>
  fields.map(([name, value]) => {
    if (/^x-litellm-session-id$/i.test(name)) return [name, 'the-session'];
    return [name, /^(?:api-key|x-api-key|x-goog-api-key)$/i.test(name) ? `say ${KEY}` : value];
  });
const contentType = fc
  .constantFrom('Content-Type', 'content-type', 'CONTENT-TYPE')
  .map((name): Field => [name, 'application/json']);
const connection = fc.constantFrom('x-a', 'x-team, x-b', 'accept', 'content-type, x-litellm-session-id');
const fieldsOf = fc
  .tuple(
    fc.array(field, { maxLength: 14 }),
    fc.array(contentType, { minLength: 1, maxLength: 2 }),
    fc
      .oneof(
        fc.constant('close'),
        connection.map((names) => `close, ${names}`),
      )
      .map((value): Field => ['Connection', value]),
    fc.constant<Field>(['X-LiteLLM-Session-Id', 'the-session']),
  )
  .chain(([some, types, close, session]) =>
    fc.shuffledSubarray([...some, ...types, close, session], { minLength: some.length + types.length + 2 }),
  );

t.test(
  'a prefix that covers the body’s own headers repeats none and names no coding that is gone',
  async (t) => {
    const rig = rigs[0];
    if (rig === undefined) throw new Error('no proxy');
    const fields: Field[] = [
      ['Content-Type', 'application/json'],
      ['Content-Encoding', 'gzip'],
      ['Connection', 'close'],
    ];
    const sent = await sentOf(rig, fields, gzipSync(JSON.stringify(BODY)));
    t.same(
      sent.filter(([name]) => name.startsWith('content-') && name !== 'content-length'),
      [['content-type', 'application/json']],
    );
    t.equal(JSON.parse(lastSeen(rig).body.toString()).model, 'acme/demo', 'the body went uncompressed');
  },
);

for (const [at, policy] of POLICIES.entries()) {
  const rig = rigs[at];
  if (rig === undefined) throw new Error('no proxy');
  t.test(`what is explained is what is sent: ${JSON.stringify(policy)}`, async (t) => {
    const body = Buffer.from(JSON.stringify(BODY));
    await fc.assert(
      fc.asyncProperty(fieldsOf.map(settled), async (fields) => {
        const told = await explained(rig, fields);
        const broken = brokenPromise(await sentOf(rig, fields, body), told, policy);
        if (broken !== null) throw new Error(broken);
      }),
      { numRuns: 15 },
    );
    t.pass('15 header lists');
  });
}
