import t from 'tap';
import { openLog } from '../../../proxy/observability/logger.ts';
import { readableLog } from '../../../proxy/observability/readable-log.ts';

const REQUEST = {
  call_id: 'c-1',
  call_type: 'acompletion',
  model: 'demo',
  model_id: 'm-1',
  upstream: 'http://up.example',
  protocol: 'chat',
  status: 200,
  end: 'complete',
  ms: 12,
  first_byte_ms: 3,
  session: 'my-session',
  key: null,
  team: null,
  tokens: 38,
  attempts: 1,
  upstream_call_id: null,
  fault: null,
  error: null,
  why: null,
};

function linesOf(isColoured: boolean, act: (log: ReturnType<typeof openLog>['log']) => void): string {
  let text = '';
  const destination = readableLog((part) => void (text += part), isColoured);
  act(openLog('debug', destination).log);
  return text.replaceAll(/\d\d:\d\d:\d\d/g, 'TIME');
}

t.test('a line says its time, its level, its text and what belongs to it', async (t) => {
  const text = linesOf(false, (log) => {
    log.info({ models: 3, file: 'a b' }, 'configuration applied');
    log.warn('careful');
    log.debug({ list: [1] }, 'seen');
    log.info({ in_flight: 2, drain_ms: 1 }, 'stopping');
    log.info({ in_flight: 1 }, 'stopping');
    log.info('stopped');
  });
  t.equal(
    text,
    'TIME info  configuration applied  models=3  file=a b\n' +
      'TIME warn  careful\n' +
      'TIME debug seen  list=[1]\n' +
      'TIME info  stopping: 2 requests in flight\n' +
      'TIME info  stopping: 1 request in flight\n' +
      'TIME info  stopped\n',
  );
});

t.test('a request is one line, and what is as usual is left out', async (t) => {
  const text = linesOf(false, (log) => {
    log.access(REQUEST);
    log.access({
      ...REQUEST,
      upstream: null,
      protocol: 'chat',
      status: null,
      end: 'client_closed',
      tokens: null,
      fault: 'client',
      error: 'client_gone',
      why: 'The client left.',
    });
    log.warn(
      {
        ...REQUEST,
        status: 401,
        end: 'upstream_error',
        fault: 'upstream',
        error: 'upstream_401',
        why: 'No.',
      },
      'request',
    );
    log.info(
      { method: 'GET', path: '/x', status: 404, fault: 'client', error: 'route_not_found', why: 'None.' },
      'rejected',
    );
    log.info({ status: 400, fault: 'client', error: 'malformed_request', why: 'Bytes.' }, 'rejected');
  });
  t.equal(
    text,
    'TIME info  200  demo -> http://up.example  12 ms  38 tokens  session my-session\n' +
      'TIME info  -  demo  12 ms  session my-session  client_closed  client: client_gone: The client left.\n' +
      'TIME warn  401  demo -> http://up.example  12 ms  38 tokens  session my-session  upstream_error  upstream: upstream_401: No.\n' +
      'TIME info  404  GET /x  rejected  client: route_not_found: None.\n' +
      'TIME info  400  rejected  client: malformed_request: Bytes.\n',
  );
});

t.test('an error keeps its stack', async (t) => {
  const text = linesOf(false, (log) => log.error({ err: new Error('no') }, 'failed'));
  t.match(text, /^TIME error failed\n {4}Error: no\n {8}at /);
});

t.test('colours only where they are wanted, and texts of others steer no terminal', async (t) => {
  t.match(
    linesOf(true, (log) => log.warn('careful')),
    '\u001b[33mwarn',
  );
  const text = linesOf(false, (log) => {
    log.info({ name: '\u001b[2J\u202e' }, 'a\u0007b');
    log.access({ ...REQUEST, model: '\u001b]0;x' });
  });
  t.notMatch(text, /[^\P{Cc}\n]|\u202e/u);
});
