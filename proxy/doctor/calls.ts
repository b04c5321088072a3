// Calls that cost money: one per entry, and a second one only where the first one failed. Through the proxy when there is
// one, so that the call gets its spend row; where that fails, the same call directly at the gateway says which hop is at
// fault.
import { randomUUID } from 'node:crypto';
import { KINDS } from '../../config/resolve/kinds/table.ts';
import type { Deployment } from '../../config/snapshot.ts';
import { upstreamPath } from '../../config/upstream-path.ts';
import { GetTimeout } from '../upstream/get.ts';
import { messageOf, shownReply, type Asked, type Reply } from './ask.ts';
import type { Code } from './codes.ts';
import type { Entry } from './entries.ts';
import type { Reporter } from './finding.ts';
import { refusalOf } from './gateway.ts';
import { checkLatency } from './latency.ts';
import type { GatewayClient } from './gateway-group.ts';
import { identityOf } from './identity.ts';
import {
  ANSWER_TOKENS,
  askWithLimit,
  isCollected,
  PROMPT_TOKENS,
  readTrial,
  refusesTools,
  trialBody,
  type Route,
  type Trial,
} from './trial-call.ts';
import type { ProxyClient } from './running-proxy.ts';

const STREAM_BYTES = 1024 * 1024;

interface CallLimits {
  readonly timeoutMs: number;
}

/** What a call by one route came to. */
type CallEnd =
  | {
      readonly is: 'answered';
      readonly trial: Trial;
      readonly seen: string;
      /** Id of the entry that answered; null = not said. */
      readonly servedBy: string | null;
    }
  | { readonly is: 'no tools'; readonly seen: string }
  | { readonly is: 'refused'; readonly code: Code; readonly seen: string; readonly isOurs: boolean }
  | { readonly is: 'failed'; readonly code: Code; readonly seen: string };

/** @param proxy null = no proxy to call through */
export async function checkCalls(
  entry: Entry,
  client: GatewayClient,
  proxy: ProxyClient | null,
  { timeoutMs }: CallLimits,
  report: Reporter,
): Promise<void> {
  const { deployment, place } = entry;
  const why = whyNoCall(deployment);
  if (why !== null) return report.skipped('call', why);
  const atGateway = routeToGateway(deployment, client, timeoutMs);
  if (proxy === null && !takesChat(deployment)) return report.skipped('call', FOR_PROXY_ALONE);
  if (proxy === null) return reportEnd(await tryCall(atGateway, deployment), atGateway, entry, report);
  const throughProxy = routeThrough(proxy, deployment, timeoutMs);
  const through = await tryCall(throughProxy, deployment);
  if (isEnough(through, deployment) || !takesChat(deployment))
    return reportEnd(through, throughProxy, entry, report);
  const direct = await tryCall(atGateway, deployment);
  // Another entry of the same name answered in its place: that says nothing of this one.
  if (isByOther(through, deployment)) return reportEnd(direct, atGateway, entry, report);
  if (through.is === 'answered') {
    if (direct.is === 'answered' && direct.trial.toolCalls > 0)
      return report.found('tool call', 'TL-1603', {
        place,
        seen: `directly ${direct.trial.toolCalls} tool call, through the proxy none`,
      });
    return reportEnd(through, throughProxy, entry, report);
  }
  if (direct.is === 'answered' || direct.is === 'no tools') {
    const isOurs = through.is === 'refused' && through.isOurs;
    return report.found('call', isOurs ? 'TL-1608' : 'TL-1609', {
      place,
      seen: `through the proxy: ${through.seen}; directly: ${direct.seen}`,
    });
  }
  return reportEnd(direct, atGateway, entry, report);
}

/** Else the proxy translates calls of chat completions, in which the doctor asks; the gateway itself would refuse them. */
const takesChat = ({ serves }: Deployment): boolean => serves?.has('chat') !== false;

const FOR_PROXY_ALONE = 'it is asked in another API, into which the proxy translates: start the proxy';

function routeToGateway(deployment: Deployment, client: GatewayClient, timeoutMs: number): Route {
  const identity = identityOf(deployment, `doctor-${randomUUID()}`);
  const { upstreamModel, upstreamQuery } = deployment;
  const query = upstreamQuery === '' ? '' : `?${upstreamQuery}`;
  const path = `${upstreamPath(deployment, 'chat/completions', upstreamModel)}${query}`;
  const limits = { timeoutMs, maxBytes: STREAM_BYTES };
  return {
    where: 'at the gateway',
    model: upstreamModel,
    send: (body) => client.ask({ method: 'POST', path, body }, limits, identity),
  };
}

const routeThrough = (proxy: ProxyClient, { group }: Deployment, timeoutMs: number): Route => ({
  where: 'through the proxy',
  model: group,
  send: (body) => proxy.call(body, timeoutMs),
});

/** What the proxy adds to calls of an entry. */
export async function timeCalls(
  { deployment, place }: Entry,
  client: GatewayClient,
  proxy: ProxyClient | null,
  { timeoutMs }: CallLimits,
  report: Reporter,
): Promise<void> {
  if (proxy === null) return report.skipped('latency', 'there is no proxy to compare with');
  if (!takesChat(deployment)) return report.skipped('latency', 'its calls are translated');
  const direct = routeToGateway(deployment, client, timeoutMs);
  const through = routeThrough(proxy, deployment, timeoutMs);
  await checkLatency(direct, through, { id: deployment.id, place }, report);
}

/** Nothing more is to be learned at the gateway itself. */
function isEnough(end: CallEnd, deployment: Deployment): boolean {
  if (end.is === 'no tools') return true;
  if (end.is !== 'answered' || isByOther(end, deployment)) return false;
  return end.trial.toolCalls > 0 || !mayCall(deployment);
}

/** A fallback, or another entry of its group. */
const isByOther = (end: CallEnd, { id }: Deployment): boolean =>
  end.is === 'answered' && end.servedBy !== null && end.servedBy !== id;

export function whyNoCall({
  kind,
  provider,
  knownFacts,
  statedInfo,
  upstreamModel,
}: Deployment): string | null {
  if (upstreamModel.includes('*')) return 'the entry is a pattern: name a model of it in an entry of its own';
  const serves = KINDS.find(({ name }) => name === kind)?.serves ?? null;
  if (serves?.has('chat') === false) return `${provider}/ does not speak chat completions`;
  const mode = statedInfo['mode'] ?? knownFacts['mode'];
  if (typeof mode === 'string' && mode !== 'chat' && mode !== 'responses') return `${mode} is no chat`;
  return null;
}

const mayCall = ({ statedInfo }: Deployment): boolean => statedInfo['supports_function_calling'] !== false;

async function tryCall(route: Route, deployment: Deployment): Promise<CallEnd> {
  const { model, send } = route;
  const withTools = mayCall(deployment);
  const { asked, limit } = await askWithLimit(route, (member) => trialBody(model, withTools, member));
  const end = endOf(asked);
  if (!withTools || !asked.ok || end.is !== 'refused') return end;
  if (!refusesTools(asked.reply.status, asked.reply.text)) return end;
  const plain = endOf(await send(trialBody(model, false, limit)));
  return plain.is === 'answered' ? { is: 'no tools', seen: end.seen } : end;
}

function endOf(asked: Asked): CallEnd {
  if (!asked.ok) {
    const { error } = asked;
    const isLate = error instanceof GetTimeout;
    return {
      is: 'failed',
      code: isLate ? 'TL-1501' : 'TL-1512',
      seen: isLate ? 'no answer in time' : error.message || error.name,
    };
  }
  const { reply } = asked;
  const seen = shownReply(reply);
  // Ours have the id of the call; what stands in front of the proxy does not know it.
  const isOurs = [...reply.headers.keys()].some((name) => /^x-[a-z]+-call-id$/.test(name));
  const refusal = refusalOf(reply, true);
  if (refusal !== null) return { is: 'refused', code: refusedCode(refusal, reply), seen, isOurs };
  const trial = readTrial(reply);
  if (trial.error !== null)
    return {
      is: 'refused',
      code: namesProvider(trial.error) ? 'TL-1611' : 'TL-1601',
      seen: `an error within the stream: "${trial.error.slice(0, 240)}"`,
      isOurs,
    };
  if (reply.broken !== null && !trial.hasEnd)
    return {
      is: 'failed',
      code: 'TL-1512',
      seen: `the stream broke off after ${trial.events} events (${reply.broken.message})`,
    };
  const [, servedBy = null] = [...reply.headers].find(([name]) => /^x-[a-z]+-model-id$/.test(name)) ?? [];
  const told = `${trial.events} events, the first after ${trial.firstMs} ms`;
  return { is: 'answered', trial, seen: told, servedBy: isOurs ? servedBy : null };
}

/** What refused a call: the message says more than the status. */
function refusedCode(refusal: Code | 'path', reply: Reply): Code {
  const message = messageOf(reply);
  if (namesProvider(message)) return 'TL-1611';
  if (reply.status < 500 && aboutModel(message)) return 'TL-1506';
  if (refusal === 'path' || (refusal === 'TL-1508' && reply.status < 500)) return 'TL-1601';
  return refusal;
}

/** LiteLLM names the class and the provider: `litellm.AuthenticationError: OpenAIException - ...`. */
const namesProvider = (message: string): boolean =>
  /\b\w+Exception - |\bprovider returned\b|insufficient_quota/i.test(message);

/** As LiteLLM, OpenAI, vLLM and Bifrost say it; a model that the key may not use counts, too. */
const aboutModel = (message: string): boolean =>
  /invalid model name|no such model|unknown model|model\b.{0,80}(?:does not exist|not found|is not allowed)|not allowed to access model|provider\/model format|provider is required in model/i.test(
    message,
  );

async function reportEnd(end: CallEnd, route: Route, entry: Entry, report: Reporter): Promise<void> {
  const { place, modelPlace, keyPlace } = entry;
  const { where } = route;
  if (end.is === 'failed') return report.found('call', end.code, { place, seen: `${where}: ${end.seen}` });
  if (end.is === 'no tools')
    return report.found('tool call', 'TL-1602', { place: modelPlace, seen: `${where}: ${end.seen}` });
  if (end.is === 'refused') {
    const places: Readonly<Partial<Record<Code, string | null>>> = {
      'TL-1506': modelPlace,
      'TL-1504': keyPlace,
    };
    return report.found('call', end.code, {
      place: places[end.code] ?? place,
      seen: `${where}: ${end.seen}`,
    });
  }
  const { trial } = end;
  report.passed('call', `${where}: ${end.seen}`);
  if (trial.hasUsage) report.passed('usage', 'the stream states its usage');
  else report.found('usage', 'TL-1604', { place, seen: `${where}: ${trial.events} events, none with usage` });
  if (!mayCall(entry.deployment))
    report.skipped('tool call', 'the entry states supports_function_calling: false');
  else if (trial.toolCalls > 0) report.passed('tool call', `${where}: arrives`);
  else
    report.found('tool call', 'TL-1610', {
      place: modelPlace,
      seen: `${where}: ${trial.textChars} characters of text, no tool call`,
    });
  await reportStream(trial, route, entry, report);
}

async function reportStream(
  trial: Trial,
  { where, model, send }: Route,
  { place }: Entry,
  report: Reporter,
): Promise<void> {
  if (!trial.hasEnd)
    return report.found('stream', 'TL-1606', {
      place,
      seen: `${where}: no [DONE] after ${trial.events} events`,
    });
  if (!isCollected(trial)) return report.passed('stream', `${trial.events} events over ${trial.spreadMs} ms`);
  // A model that thought for long and wrote a line looks the same: a longer text tells.
  const asked = await send(trialBody(model, false));
  const again = asked.ok && asked.reply.status === 200 ? readTrial(asked.reply) : null;
  if (again === null || !isCollected(again))
    return report.passed('stream', `${trial.events} events at once, but a longer text arrived in pieces`);
  report.found('stream', 'TL-1605', {
    place,
    seen: `${where}: ${again.events} events within ${again.spreadMs} ms, after ${again.firstMs} ms of silence`,
  });
}

const ATTO_PER_USD = 10n ** 18n;

/** What a run costs at most, said before it begins. */
export function priceOf(entries: readonly Entry[]): {
  readonly calls: number;
  readonly usd: number;
  readonly unknown: number;
} {
  let atto = 0n;
  let [calls, unknown] = [0, 0];
  for (const { deployment } of entries) {
    if (whyNoCall(deployment) !== null) continue;
    calls += 1;
    const tokens = (deployment.prices ?? deployment.cataloguePrices)?.tokens;
    const [input, output] = [tokens?.input?.base, tokens?.output?.base];
    if (input === undefined || input === null || output === undefined || output === null) unknown += 1;
    else atto += input * BigInt(PROMPT_TOKENS) + output * BigInt(ANSWER_TOKENS);
  }
  return { calls, usd: Number((atto * 1_000_000n) / ATTO_PER_USD) / 1e6, unknown };
}
