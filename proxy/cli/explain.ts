// `throughline explain`: what would be sent upstream, and why - with the very steps that serve a request, up to the
// point where it would be sent. Nothing is sent, nothing is recorded.
import { resolve } from 'node:path';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { bytesOf } from '../../config/read.ts';
import { ActiveConfig } from '../active-config/active-config.ts';
import { BodyMemory } from '../bodies/body-memory.ts';
import { REALTIME } from '../protocols/realtime/realtime.ts';
import { ENDPOINTS } from '../protocols/table.ts';
import { openExchange, type Exchange } from '../pipeline/exchange.ts';
import { COUNTED_HERE } from '../pipeline/count-tokens.ts';
import { dryRun, type Asked, type DryRequest, type DryRun } from '../pipeline/dry-run.ts';
import type { ParsedRequest } from '../pipeline/parse-request.ts';
import type { CallPlan } from '../pipeline/plan.ts';
import type { Identity } from '../pipeline/identity.ts';
import { neededMembers } from '../protocols/needs.ts';
import type { SelectedDeployment } from '../pipeline/select-deployment.ts';
import { CredentialDigest } from '../downstream/credential-digest.ts';
import { DownstreamRequest } from '../downstream/downstream-request.ts';
import { DownstreamResponse } from '../downstream/downstream-response.ts';
import type { Chaos } from '../chaos/faults.ts';
import type { KeyCaller } from '../access/caller.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { ConfigPlaces } from './config-places.ts';
import { Decisions } from './explain-decisions.ts';
import { callerAsked, callerText, type AskedCaller } from './explain-caller.ts';
import { idleServices } from '../active-config/idle-services.ts';
import { accessFor } from './stored-access.ts';
import { readConfig } from './read-config.ts';
import { CONFIG_FLAG, UsageError, type Define, type Terminal } from './terminal.ts';
import { cannotRead } from './unreadable.ts';

const DESCRIPTION = `Prints, without sending, the upstream request: method, URL, every query parameter and header with the rule that
forwarded, set, replaced or dropped it, and the members of the body that change. With --key or --team: what that caller may
call, and its budgets and limits in the order in which they refuse.`;

/** Those of calls, and the one that opens a session. */
const EXPLAINED: readonly Endpoint[] = [...ENDPOINTS, REALTIME];

/** No proxy takes a larger one. */
const LONGEST_BODY = 128 * 1024 * 1024;

interface Flags extends AskedCaller {
  readonly dataDir?: string | undefined;
  readonly config?: string | undefined;
  readonly model?: string | undefined;
  readonly header: readonly string[];
  readonly body?: string | undefined;
  readonly query: string;
  readonly endpoint: string;
}

export const explain: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option(...CONFIG_FLAG)
    .option('--model <name>', 'the name a client asks for')
    .option('--key <name>', 'say what a key may do, by its alias or SHA-256; --model adds the call')
    .option('--team <id>', 'the same for any key of a team')
    .option(
      '--data-dir <dir>',
      'know the keys and teams that were made by API there; else those of the database of the configuration',
    )
    .option('--header <header>', "a header of the client, 'Name: value'; repeat for more", collected, [])
    .option('--body <file>', 'the JSON body of the client (default: one short message)')
    .option('--query <text>', 'the query of the client, e.g. api-version=2024-10-21', '')
    .option('--endpoint <path>', 'path below /v1; `realtime` for a session', 'chat/completions')
    .action(async (flags) => terminal.exitWith(await printRequest(flags, terminal)));
};

const collected = (text: string, before: readonly string[]): readonly string[] => [...before, text];

async function printRequest(values: Flags, terminal: Terminal): Promise<number> {
  const isOfCaller = values.key !== undefined || values.team !== undefined;
  if (values.model === undefined && !isOfCaller)
    throw new UsageError('no model is named - give --model NAME');
  // A name in a path is the model's (`--endpoint models/{model}:generateContent`).
  const path = values.endpoint
    .replace(/^\/?(v1(?:beta)?\/)?/, '')
    .replace(/^models\/[^:]*:/, 'models/{model}:');
  const endpoint = EXPLAINED.find((one) => one.path === path);
  if (endpoint === undefined) {
    throw new UsageError(
      `there is no endpoint ${path} - one of ${EXPLAINED.map((one) => one.path).join(', ')}`,
    );
  }
  const { snapshot, source } = readConfig(values.config, terminal);
  const { dataDir } = values;
  const database = isOfCaller ? snapshot.database : null;
  const access = await accessFor(snapshot.access, { dataDir, database }, terminal);
  const active = new ActiveConfig(snapshot, idleServices(snapshot, access));
  try {
    const caller = callerAsked(active, values);
    const of = { active, caller, places: new ConfigPlaces(source) };
    if (values.model !== undefined) return await printCall(of, endpoint, values, values.model, terminal);
    if (caller !== null) terminal.out(callerText({ ...of, caller, call: null, nowMs: Date.now() }));
    return 0;
  } finally {
    active.retire();
    active.services.pools.destroy();
    await access.close();
  }
}

interface CallerAsked {
  readonly active: ActiveConfig;
  /** null: nobody in particular. */
  readonly caller: KeyCaller | null;
  readonly places: ConfigPlaces;
}

/** @returns the exit code */
async function printCall(
  { active, caller, places }: CallerAsked,
  endpoint: Endpoint,
  values: Flags,
  model: string,
  terminal: Terminal,
): Promise<number> {
  const isSession = endpoint === REALTIME;
  if (isSession && values.body !== undefined)
    throw new UsageError('a session has no body - leave out --body, or name another --endpoint');
  const headers = values.header.flatMap(headerOf);
  const x = isSession
    ? exchangeOf(active, 'GET', `realtime?${sessionQuery(model, values.query)}`, headers)
    : exchangeOf(active, 'POST', withQuery(endpoint.path, values.query), [...JSON_BODY, ...headers]);
  const asked: Asked = isSession
    ? { is: 'session', model }
    : {
        is: 'call',
        endpoint,
        body: bodyOf(values.body, model, endpoint.path, terminal),
        pathModel: endpoint.path.includes('{model}') ? model : null,
      };
  const decisions = new Decisions();
  const run = await dryRun(x, caller, asked, { explainer: decisions });
  if (run.is !== 'unread') {
    const { request, chaos } = run.call;
    if (chaos !== null) terminal.out(chaosText(chaos, caller));
    if (request.asked !== model)
      terminal.out(`note: the body asks for ${request.asked}; that is explained\n`);
    if (caller !== null) {
      const call = { ...run.call, selected: run.is === 'served' ? run.selected : null };
      terminal.out(`${callerText({ active, caller, places, call, nowMs: x.startMs })}\n`);
    }
  }
  if (run.is !== 'served') {
    terminal.out(`refused: ${run.fault.status} ${run.fault.code}: ${run.fault.message}\n`);
    return 1;
  }
  const beforeBytes = asked.is === 'call' ? asked.body.length : null;
  terminal.out(servedText(active, run, decisions, beforeBytes));
  return 0;
}

type Served = Extract<DryRun, { readonly is: 'served' }>;

/** @param beforeBytes of the client's body; null = it has none */
function servedText(
  active: ActiveConfig,
  { plan, selected, request, call: { request: asked, identity } }: Served,
  decisions: Decisions,
  beforeBytes: number | null,
): string {
  const place = placeText(request, asked, selected, identity, decisions);
  const routing = routingText(active, plan, identity);
  const warnings = identity.warnings.map((warning) => `warning: ${warning}\n`).join('');
  if (request === null) return `${place}${routing}${warnings}`;
  const { config } = selected.deployment;
  const afterBytes = request.body?.length ?? 0;
  return [
    place,
    `${routing}\n${decisions.queryText}headers\n${decisions.headersText}`,
    `\nsent\n${sentHeaders(request.headers, config.gateway.session, config)}`,
    beforeBytes === null ? HANDSHAKE : `  content-length: ${afterBytes}\n`,
    beforeBytes === null ? '' : decisions.bodyText(beforeBytes, afterBytes),
    warnings,
  ].join('');
}

const JSON_BODY = ['Content-Type', 'application/json'] as const;
/** The rest of a handshake: the same for every session, but for the key. */
const HANDSHAKE = `  connection: Upgrade
  upgrade: websocket
  sec-websocket-version: 13
  sec-websocket-key: (random)

frames pass as they are
`;

const withQuery = (path: string, query: string): string =>
  query === '' ? path : `${path}?${query.replace(/^\?/, '')}`;

/** A session names its model in the query. */
function sessionQuery(model: string, query: string): string {
  const named = `model=${encodeURIComponent(model)}`;
  return query === '' ? named : `${named}&${query.replace(/^\?/, '')}`;
}

/** Where the call goes, and as what. */
function placeText(
  sent: DryRequest | null,
  { model, endpoint }: ParsedRequest,
  { deployment: { config }, upstreamModel, forwards }: SelectedDeployment,
  identity: Identity,
  decisions: Decisions,
): string {
  const discovery = '  discovery  on; `throughline models` asks the gateway what it lists\n';
  return `${sent === null ? COUNTED_HERE : `${sent.method} ${sent.origin}${sent.path}`}
  entry      ${config.group} (${config.kind}-type), id ${config.id}
  model      ${model} -> ${upstreamModel}
  session    ${identity.sessionId} (${identity.sessionSource})
  gateway    ${config.gateway.name}
${decisions.protocolText((sent ?? endpoint).protocol.name)}${config.discovers ? discovery : ''}  forwarding ${forwards ? 'on' : 'off'}
`;
}

function chaosText({ text, means }: Chaos, caller: KeyCaller | null): string {
  const whose = caller === null ? '; for keys that say allow_chaos: true' : '';
  return `chaos  ${text}: ${means}${whose}\n`;
}

/** The order of deployments and fallbacks; nothing when there is one deployment and no fallback. */
function routingText(active: ActiveConfig, plan: CallPlan, identity: Identity): string {
  const { routing } = active.snapshot;
  const { group } = plan;
  const others = plan.others.map(({ name }) => name);
  if (group.deployments.length === 1 && others.length === 0) return '';
  const isBound = routing.sessionAffinity && identity.sessionSource !== 'generated';
  const how = isBound ? 'session' : `${routing.strategy}; one order of many`;
  const lines = group.deployments.map(({ config }, i) => {
    const order = Number.isFinite(config.order) ? `, order ${config.order}` : '';
    return `  ${i + 1}  ${config.apiBase}, id ${config.id}, weight ${config.weight}${order}\n`;
  });
  const then = others.length === 0 ? '' : `  then       ${others.join(', ')}\n`;
  return `\nentries of ${group.name}, by order and ${how}\n${lines.join('')}${then}`;
}

/** The exchange of a request that arrived on no connection; its body comes from a file. */
function exchangeOf(
  active: ActiveConfig,
  method: 'GET' | 'POST',
  target: string,
  headers: readonly string[],
): Exchange {
  const socket = new Socket();
  const message = new IncomingMessage(socket);
  message.method = method;
  message.url = `/v1/${target}`;
  message.httpVersion = '1.1';
  message.rawHeaders = ['Host', 'localhost', ...headers];
  const connection = {
    socket,
    clientAddress: null,
    bodies: new BodyMemory(),
    credentialDigest: new CredentialDigest(),
    closed: true,
    decideClose: () => false,
    requestComplete: true,
    sendContinue: () => undefined,
    closeAfterResponse: () => undefined,
    responseEnded: () => undefined,
    cut: () => undefined,
    mayUpgrade: false,
    upgrade: () => undefined,
  };
  const response = new DownstreamResponse(new ServerResponse(message), connection);
  return openExchange(new DownstreamRequest(message, connection, 'none'), response, active);
}

function headerOf(text: string): string[] {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError(`${text} is not a header - write --header 'Name: value'`);
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  messages: [{ role: 'user', content: 'Hello' }],
  documents: ['Hello'],
};

function bodyOf(file: string | undefined, model: string, path: string, terminal: Terminal): Buffer {
  if (file !== undefined) {
    try {
      const bytes = bytesOf(resolve(terminal.cwd, file), LONGEST_BODY);
      if (bytes !== null) return bytes;
    } catch (error) {
      throw cannotRead(`the body ${file}`, error);
    }
    throw new UsageError(`the body ${file} is larger than ${LONGEST_BODY} bytes`);
  }
  return Buffer.from(JSON.stringify(exampleOf(path, model)));
}

/** The shortest body of an endpoint. */
function exampleOf(path: string, model: string): object {
  if (path.includes('{model}')) return { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
  const content = neededMembers(path).map((name) => [name, EXAMPLES[name] ?? 'Hello'] as const);
  return { model, ...(path === 'messages' ? { max_tokens: 100 } : {}), ...Object.fromEntries(content) };
}

/** The list as it would be written; values that may be secrets are masked. */
function sentHeaders(
  list: readonly string[],
  sessionHeader: string | null,
  deployment: {
    readonly credentialHeader: string;
    readonly staticHeaders: readonly (readonly [string, unknown])[];
  },
): string {
  const names = deployment.staticHeaders.map(([name]) => name);
  const secret = new Set(['authorization', deployment.credentialHeader, ...names]);
  let text = '';
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i] as string;
    const value = name === 'authorization' ? 'Bearer [secret]' : '[secret]';
    text += `  ${name}: ${secret.has(name) && name !== sessionHeader ? value : list[i + 1]}\n`;
  }
  return text;
}
