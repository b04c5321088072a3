// Whom a call can be told, and what is left of finding that out.
import t from 'tap';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { parseRequest } from '../../../proxy/pipeline/parse-request.ts';
import { readBody } from '../../../proxy/pipeline/read-body.ts';
import { Translations } from '../../../proxy/pipeline/translations.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { groupOf } from '../../../proxy/pipeline/select-deployment.ts';
import { exchangeOf, firstOf, liveOf, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;

t.test('a translation is made once for a deployment, and given away once', async (t) => {
  const entry = (name: string, more: string): string =>
    `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k${more} } }\n`;
  const active = liveOf(
    t,
    `model_list:\n${entry('same', ', supported_endpoints: [chat]')}${entry('lossy', ', supported_endpoints: [messages]')}${entry('strict', ', supported_endpoints: [messages], drop_params: false')}`,
    await servicesOf(t),
  );
  const body = JSON.stringify({
    model: 'same',
    logprobs: true,
    messages: [{ role: 'user', content: 'one' }],
  });
  const { x } = await exchangeOf(t, active, { body });
  const request = await parseRequest(x, CHAT, await readBody(x), null);
  const translations = new Translations(
    x,
    request,
    identityOf(x, { keyHash: 'hash' }, request.identityMembers),
  );
  const [same, lossy, strict] = [
    firstOf(active, 'same'),
    firstOf(active, 'lossy'),
    firstOf(active, 'strict'),
  ];
  const ways = (): string[] => [same, lossy, strict].map((one) => translations.wayTo(one));
  t.same(ways(), ['as it is', 'translated', 'not at all']);
  request.body.edit([{ start: 0, end: 1, insert: [' {'] }]);
  t.same(ways(), ['as it is', 'translated', 'not at all'], 'whatever an attempt did to the body');
  t.equal(translations.taken({ ...lossy, upstreamModel: 'other' }), null, 'it names the model');
  t.match(translations.taken(lossy), { deployment: lossy.deployment, to: { name: 'messages' } });
  t.equal(translations.taken(lossy), null);
  t.equal(translations.wayTo(lossy), 'translated');
  t.equal(translations.wayTo({ ...lossy, upstreamModel: 'other' }), 'translated');
  t.ok(translations.taken({ ...lossy, upstreamModel: 'other' }));
});

t.test('deployments that are told the same cost one translation', async (t) => {
  const entry = (model: string, more = ''): string =>
    `  - { model_name: alike, litellm_params: { model: litellm_proxy/${model}, api_base: "http://127.0.0.1:1", api_key: k, supported_endpoints: [messages]${more} } }\n`;
  const active = liveOf(
    t,
    `model_list:\n${entry('up')}${entry('up', ', order: 2')}${entry('other')}${entry('up', ', drop_params: false')}`,
    await servicesOf(t),
  );
  const body = JSON.stringify({ model: 'alike', messages: [{ role: 'user', content: 'one' }] });
  const { x } = await exchangeOf(t, active, { body });
  const request = await parseRequest(x, CHAT, await readBody(x), null);
  const identity = identityOf(x, { keyHash: 'hash' }, request.identityMembers);
  const translations = new Translations(x, request, identity);
  const group = groupOf(active, 'alike');
  const [first, second, other, strict] = group.deployments.map((one) => group.select(one));
  if (first === undefined || second === undefined || other === undefined || strict === undefined)
    throw new Error('four deployments');
  t.same(
    [first, second].map((one) => translations.wayTo(one)),
    ['translated', 'translated'],
  );
  t.match(translations.taken(first), { deployment: first.deployment }, 'made for the first');
  t.equal(translations.wayTo(second), 'translated');
  t.equal(translations.taken(second), null, 'and not again for the second');
  translations.wayTo(other);
  t.equal(translations.taken(first), null);
  translations.wayTo(strict);
  t.equal(translations.taken(first), null);
  t.match(translations.taken(strict), { deployment: strict.deployment });
});
