// Calls that cost money: one per entry, and a second one only where the first one failed. Through the proxy when there is
// one, so that the call gets its spend row; where that fails, the same call directly at the gateway says which hop is at
// fault.
import { randomUUID } from 'node:crypto';
import type { Deployment } from '../../config/snapshot.ts';
import { messageOf, shownReply, type Asked } from './ask.ts';
import type { Code } from './codes.ts';
import type { Entry } from './entries.ts';
import type { Reporter } from './finding.ts';
import { refusalOf } from './gateway.ts';
import type { GatewayClient } from './gateway-group.ts';
import { identityOf } from './identity.ts';
import {
  ANSWER_TOKENS,
  isCollected,
  PROMPT_TOKENS,
  readTrial,
  refusesLimit,
  refusesTools,
  trialBody,
  type LimitMember,
  type Trial,
} from './trial-call.ts';
import type { ProxyClient } from './running-proxy.ts';

const STREAM_BYTES = 1024 * 1024;

export interface CallLimits {
  readonly timeoutMs: number;
}

/** What one way of a call came to. */
type Way =
  | { readonly is: 'answered'; readonly trial: Trial; readonly seen: string }
  | { readonly is: 'no tools'; readonly seen: string }
  | { readonly is: 'refused'; readonly code: Code; readonly seen: string; readonly isOurs: boolean }
  | { readonly is: 'failed'; readonly seen: string };

type Send = (body: object) => Promise<Asked>;

/** @param proxy null = no proxy to call through */
export async function checkCalls(
  entry: Entry,
  client: GatewayClient,
  proxy: ProxyClient | null,
  { timeoutMs }: CallLimits,
  report: Reporter,
): Promise<void> {
  const { deployment, place } = entry;
  const { group, upstreamModel } = deployment;
  const why = whyNoCall(deployment);
  if (why !== null) return report.skipped('call', why);
  const identity = identityOf(deployment, `doctor-${randomUUID()}`);
  const path = `${deployment.pathPrefix}/chat/completions`;
  const directly: Send = (body) =>
    client.ask({ method: 'POST', path, body }, { timeoutMs, maxBytes: STREAM_BYTES }, identity);
  if (proxy === null) {
    const way = await tryWay(upstreamModel, directly, deployment);
    return reportWay(way, 'at the gateway', entry, report);
  }
  const through = await tryWay(group, (body) => proxy.call(body, timeoutMs), deployment);
  if (through.is === 'answered' && (through.trial.toolCalls > 0 || !mayCall(deployment)))
    return reportWay(through, 'through the proxy', entry, report);
  if (through.is === 'no tools') return reportWay(through, 'through the proxy', entry, report);
  const direct = await tryWay(upstreamModel, directly, deployment);
  if (through.is === 'answered') {
    if (direct.is === 'answered' && direct.trial.toolCalls > 0)
      return report.found('tool call', 'TL-1603', {
        place,
        seen: `directly ${direct.trial.toolCalls} tool call, through the proxy none`,
      });
    return reportWay(through, 'through the proxy', entry, report);
  }
  if (direct.is === 'answered' || direct.is === 'no tools') {
    const isOurs = through.is === 'refused' && through.isOurs;
    return report.found('call', isOurs ? 'TL-1608' : 'TL-1609', {
      place,
      seen: `through the proxy: ${through.seen}; directly: ${direct.seen}`,
    });
  }
  reportWay(direct, 'at the gateway', entry, report);
}

function whyNoCall({ knownFacts, statedInfo, upstreamModel }: Deployment): string | null {
  if (upstreamModel.includes('*')) return 'the entry is a pattern: name a model of it in an entry of its own';
  const mode = statedInfo['mode'] ?? knownFacts['mode'];
  if (typeof mode === 'string' && mode !== 'chat' && mode !== 'responses') return `${mode} is no chat`;
  return null;
}

const mayCall = ({ statedInfo }: Deployment): boolean => statedInfo['supports_function_calling'] !== false;

async function tryWay(model: string, send: Send, deployment: Deployment): Promise<Way> {
  const withTools = mayCall(deployment);
  let limit: LimitMember = 'max_tokens';
  let asked = await send(trialBody(model, withTools, limit));
  if (asked.ok && refusesLimit(asked.reply.status, messageOf(asked.reply))) {
    limit = 'max_completion_tokens';
    asked = await send(trialBody(model, withTools, limit));
  }
  const way = wayOf(asked);
  if (!withTools || !asked.ok || way.is !== 'refused') return way;
  if (!refusesTools(asked.reply.status, asked.reply.text)) return way;
  const plain = wayOf(await send(trialBody(model, false, limit)));
  return plain.is === 'answered' ? { is: 'no tools', seen: way.seen } : way;
}

function wayOf(asked: Asked): Way {
  if (!asked.ok) return { is: 'failed', seen: asked.error.message || asked.error.name };
  const { reply } = asked;
  const seen = shownReply(reply);
  // Ours have the id of the call; what stands in front of the proxy does not know it.
  const isOurs = [...reply.headers.keys()].some((name) => name.endsWith('-call-id'));
  const refusal = refusalOf(reply, true);
  if (refusal !== null) {
    const message = messageOf(reply);
    const code = refusal === 'path' ? (/model/i.test(message) ? 'TL-1506' : 'TL-1601') : refusal;
    const isProvider = code === 'TL-1508' && message !== '' && namesProvider(message);
    const other = code === 'TL-1508' && reply.status < 500 ? 'TL-1601' : code;
    return { is: 'refused', code: isProvider ? 'TL-1611' : other, seen, isOurs };
  }
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
      seen: `the stream broke off after ${trial.events} events (${reply.broken.message})`,
    };
  return { is: 'answered', trial, seen: `${trial.events} events, the first after ${trial.firstMs} ms` };
}

/** LiteLLM names the class and the provider: `litellm.AuthenticationError: OpenAIException - ...`. */
const namesProvider = (message: string): boolean =>
  /\b\w+Exception - |\bprovider\b|insufficient_quota/i.test(message);

function reportWay(way: Way, where: string, entry: Entry, report: Reporter): void {
  const { place, modelPlace, keyPlace } = entry;
  if (way.is === 'failed') return report.found('call', 'TL-1512', { place, seen: `${where}: ${way.seen}` });
  if (way.is === 'no tools')
    return report.found('tool call', 'TL-1602', { place: modelPlace, seen: `${where}: ${way.seen}` });
  if (way.is === 'refused') {
    const at = way.code === 'TL-1506' ? modelPlace : way.code === 'TL-1504' ? keyPlace : place;
    return report.found('call', way.code, { place: at, seen: `${where}: ${way.seen}` });
  }
  const { trial } = way;
  report.passed('call', `${where}: ${way.seen}`);
  if (trial.hasUsage) report.passed('usage', 'the stream states its usage');
  else report.found('usage', 'TL-1604', { place, seen: `${where}: ${trial.events} events, none with usage` });
  if (!trial.hasEnd)
    report.found('stream', 'TL-1606', { place, seen: `${where}: no [DONE] after ${trial.events} events` });
  else if (isCollected(trial))
    report.found('stream', 'TL-1605', {
      place,
      seen: `${where}: ${trial.events} events within ${trial.spreadMs} ms, after ${trial.firstMs} ms of silence`,
    });
  else report.passed('stream', `${trial.events} events over ${trial.spreadMs} ms`);
  if (!mayCall(entry.deployment))
    report.skipped('tool call', 'the entry states supports_function_calling: false');
  else if (trial.toolCalls > 0) report.passed('tool call', `${where}: arrives`);
  else
    report.found('tool call', 'TL-1610', {
      place: modelPlace,
      seen: `${where}: ${trial.textChars} characters of text, no tool call`,
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
