// Whom a call can be told, and what is left of finding that out.
import t from 'tap';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { parseRequest } from '../../../proxy/pipeline/parse-request.ts';
import { readBody } from '../../../proxy/pipeline/read-body.ts';
import { Translations } from '../../../proxy/pipeline/translations.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
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
