// What a request itself states of its bill: the tier that it asks for, in the words of each protocol.
import t from 'tap';
import { billableIn, billableUnitsOf } from '../../../proxy/pipeline/billable-units.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';

function endpointOf(path: string): Endpoint {
  const found = ENDPOINTS.find((one) => one.path === path);
  if (found === undefined) throw new Error(path);
  return found;
}
const CHAT = endpointOf('chat/completions');
const GEMINI = endpointOf('models/{model}:generateContent');
const MESSAGES = endpointOf('messages');
const tierIn = (endpoint: Endpoint, member: string, value: unknown): string | null =>
  billableUnitsOf(endpoint, new Map([[member, value]])).serviceTier;

t.test('the tier that a request asks for', (t) => {
  t.equal(tierIn(CHAT, 'service_tier', 'flex'), 'flex');
  t.equal(tierIn(CHAT, 'serviceTier', 'flex'), null, 'it is Gemini that has this member');
  t.equal(tierIn(GEMINI, 'serviceTier', 'priority'), 'priority');
  t.equal(tierIn(GEMINI, 'serviceTier', 'SERVICE_TIER_PRIORITY'), 'priority');
  t.equal(tierIn(GEMINI, 'service_tier', 'SERVICE_TIER_FLEX'), 'flex');
  t.equal(tierIn(GEMINI, 'serviceTier', 'SERVICE_TIER_UNSPECIFIED'), null);
  t.equal(tierIn(GEMINI, 'serviceTier', 'a tier\n'), null);
  t.equal(tierIn(GEMINI, 'serviceTier', 7), null);
  t.equal(tierIn(MESSAGES, 'service_tier', 'auto'), 'auto');
  t.equal(tierIn(MESSAGES, 'speed', 'fast'), 'fast', 'what it reserves is what such a call costs');
  t.equal(tierIn(CHAT, 'speed', 'fast'), null, 'it is Anthropic that has this member');
  t.end();
});

t.test('a tier that a translation leaves out is not charged by', (t) => {
  const asked = billableUnitsOf(CHAT, new Map([['service_tier', 'flex']]));
  t.equal(billableIn(CHAT.protocol, CHAT, asked, 'flex').serviceTier, 'flex');
  t.equal(billableIn(GEMINI.protocol, CHAT, asked, 'flex').serviceTier, null);
  t.end();
});
