// Do the headers of a call arrive? A gateway that echoes what it received tells; the demo gateway does, and costs nothing.
import { randomUUID } from 'node:crypto';
import { objectOf, recordOf } from './ask.ts';
import type { Reporter } from './finding.ts';
import type { GatewayClient } from './gateway-group.ts';
import { identityOf } from './identity.ts';
import type { ListedModels } from './model-names.ts';

const ECHO_BYTES = 64 * 1024;

export async function checkEcho(
  client: GatewayClient,
  list: ListedModels,
  { timeoutMs }: { readonly timeoutMs: number },
  report: Reporter,
): Promise<void> {
  const model = [...list.ids].find((id) => /(?:^|-)echo$/.test(id.slice(id.lastIndexOf('/') + 1)));
  if (!list.isDemo || model === undefined)
    return report.skipped('headers', 'this gateway cannot echo what arrives there; the demo gateway can');
  const { deployment, entries } = client.group;
  const sent = identityOf(deployment, `doctor-${randomUUID()}`);
  const body = { model, messages: [{ role: 'user', content: 'echo' }] };
  const path = `${deployment.pathPrefix}/chat/completions`;
  const asked = await client.ask({ method: 'POST', path, body }, { timeoutMs, maxBytes: ECHO_BYTES }, sent);
  const received = asked.ok ? echoedHeaders(asked.reply.text) : null;
  if (received === null) return report.skipped('headers', 'the echo of the gateway could not be read');
  const names = sent.filter((_, i) => i % 2 === 0);
  const missing = names.filter((name, i) => received.get(name.toLowerCase()) !== sent[2 * i + 1]);
  const place = entries[0]?.basePlace ?? null;
  if (missing.length > 0)
    report.found('headers', 'TL-1607', {
      place,
      seen: `${missing.join(', ')} did not arrive at the gateway, ${names.length - missing.length} of ${names.length} did`,
    });
  else report.passed('headers', `${names.length} identity headers arrive`);
}

function echoedHeaders(text: string): ReadonlyMap<string, string> | null {
  const { choices } = objectOf(text);
  const message = recordOf(recordOf(Array.isArray(choices) ? choices[0] : null)['message']);
  const content = message['content'];
  const { headers } = objectOf(typeof content === 'string' ? content : '');
  if (!Array.isArray(headers)) return null;
  const named = new Map<string, string>();
  for (let i = 0; i + 1 < headers.length; i += 2)
    named.set(String(headers[i]).toLowerCase(), String(headers[i + 1]));
  return named;
}
