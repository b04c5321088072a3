// The first steps of a call: reading refuses nothing and tells the row all, then what is refused is refused in one order.
import t, { type Test } from 'tap';
import { ANYBODY, keyCaller, type AuthenticatedCaller } from '../../../proxy/access/caller.ts';
import { blankKey } from '../../../proxy/access/objects/blank.ts';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { Exchange } from '../../../proxy/pipeline/exchange.ts';
import { parseRequest } from '../../../proxy/pipeline/parse-request.ts';
import { checkCall, planOf, readCall, type ReadCall } from '../../../proxy/pipeline/read-call.ts';
import { readBody } from '../../../proxy/pipeline/read-body.ts';
import { requestOf } from '../../../proxy/pipeline/realtime/handshake.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const KEY = keyCaller({ ...blankKey('hash', 'ci', 0), models: ['able'] }, null, null);
const FAULTY = keyCaller(
  { ...blankKey('hash', 'ci', 0), models: ['able'], metadata: { allow_chaos: true } },
  null,
  null,
);
const CONFIG = `model_list:
  - { model_name: able, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1" } }
  - { model_name: other, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1" } }
general_settings: { master_key: sk-master-key-0001 }
litellm_settings: { blocked_user_list: [mallory] }
`;

type Members = Readonly<Record<string, unknown>>;

const live = async (t: Test): Promise<ActiveConfig> => liveOf(t, CONFIG, await servicesOf(t));

async function readOf(
  t: Test,
  caller: AuthenticatedCaller | null,
  members: Members,
): Promise<{ readonly x: Exchange; readonly call: ReadCall }> {
  const { x } = await exchangeOf(t, await live(t), { body: JSON.stringify(members) });
  return { x, call: readCall(x, caller, await parseRequest(x, CHAT, await readBody(x), null)) };
}

function codeOf(what: () => unknown): string | null {
  try {
    what();
    return null;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown.code;
    throw thrown;
  }
}

t.test('what is read of a call that will be refused says all that its row states', async (t) => {
  const body = { model: 'chaos/500/other', user: 'mallory', stream: true, metadata: { session_id: 's-1' } };
  const denied = await readOf(t, KEY, body);
  t.match(denied.call, {
    request: { model: 'other', stream: true },
    identity: { sessionId: 's-1', endUser: 'mallory' },
    chaos: null,
  });
  t.equal(
    codeOf(() => checkCall(denied.x, denied.call)),
    'chaos_denied',
    'the fault comes first',
  );
  const faulty = await readOf(t, FAULTY, body);
  t.match(faulty.call.chaos, { text: '500' }, 'a fault that it may have is stated, too');
  t.equal(
    codeOf(() => checkCall(faulty.x, faulty.call)),
    'key_model_access_denied',
    'then the model',
  );
  const blocked = await readOf(t, FAULTY, { ...body, model: 'able' });
  t.equal(
    codeOf(() => checkCall(blocked.x, blocked.call)),
    'blocked_end_user',
    'then the rules for every call',
  );
});

t.test('nobody in particular may call every model, and ask for any fault', async (t) => {
  const { x, call } = await readOf(t, null, { model: 'chaos/500/other' });
  t.match(call, { requested: 'other', chaos: { text: '500' } });
  t.equal(
    codeOf(() => checkCall(x, call)),
    null,
  );
  const open = await readOf(t, ANYBODY, { model: 'chaos/500/other' });
  t.equal(
    codeOf(() => checkCall(open.x, open.call)),
    'chaos_denied',
    'who calls an open proxy may not',
  );
  const unknown = await readOf(t, null, { model: 'chaos/no-such/other' });
  t.equal(
    codeOf(() => checkCall(unknown.x, unknown.call)),
    'unknown_chaos',
  );
});

t.test('a session has no faults: it is one of the model behind the name', async (t) => {
  const { x } = await exchangeOf(t, await live(t), { body: '' });
  const call = readCall(x, KEY, requestOf({ key: '', subprotocols: [], model: 'chaos/500/able' }));
  t.match(call, { request: { model: 'able', stream: true, isBackground: false }, chaos: null });
  t.equal(
    codeOf(() => checkCall(x, call)),
    null,
  );
  t.equal(planOf(x, call, null).group.name, 'able');
});

t.test(
  'a name that is not served comes before what could steer, and that before what is missing',
  async (t) => {
    const codes = async (members: Members): Promise<string | null> => {
      const { x, call } = await readOf(t, null, members);
      checkCall(x, call);
      return codeOf(() => planOf(x, call, null));
    };
    t.equal(await codes({ model: 'none', api_base: 'http://x' }), 'model_not_found');
    t.equal(await codes({ model: 'able', api_base: 'http://x' }), 'parameter_not_allowed');
    t.equal(await codes({ model: 'able' }), 'missing_parameter');
    t.equal(await codes({ model: 'able', messages: [] }), null);
  },
);
