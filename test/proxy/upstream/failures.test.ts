// Failures as they really come about, and the fault that a client reads.
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import { ProxyFailure } from '../../../proxy/upstream/bad-response.ts';
import { failureOf } from '../../../proxy/upstream/failures.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';

const BASE = 'https://gateway.example.com/v1';

/** The error of a call to that origin. */
async function errorOf(origin: string): Promise<unknown> {
  const pools = new Pools(systemClock.mono);
  try {
    return await new Promise((resolve, reject) => {
      const ignore = (): void => undefined;
      pools.acquire({ origin, allowH2: false }).send(
        { method: 'GET', path: '/', headers: [], body: null },
        {
          onSent: ignore,
          onHead: ignore,
          onData: ignore,
          onEnd: () => reject(new Error(`${origin} answered`)),
          onError: resolve,
        },
      );
    });
  } finally {
    pools.destroy();
  }
}

async function listening(
  t: { teardown(act: () => unknown): unknown },
  answer: string | null,
): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (answer === null ? socket.destroy() : socket.end(answer)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('an upstream that is not there is unreachable, and the text says how', async (t) => {
  const refused = failureOf(await errorOf('http://127.0.0.1:1'), BASE);
  t.match(refused, { code: 'upstream_unreachable', status: 503, source: 'upstream' });
  t.equal(refused.message, `The upstream ${BASE} cannot be reached: connection refused.`);
  const unknown = failureOf(await errorOf('http://no-such-host.invalid'), BASE);
  t.match(unknown, {
    code: 'upstream_unreachable',
    message: /its name is not known to DNS|DNS does not answer/,
  });
});

t.test('an upstream that talks no TLS is unreachable', async (t) => {
  const fault = failureOf(await errorOf(`https://${await listening(t, 'HTTP/1.1 400 no\r\n\r\n')}`), BASE);
  t.match(fault, {
    code: 'upstream_unreachable',
    message: /TLS failed: its port speaks no TLS; api_base may have to begin with http:\/\//,
  });
});

t.test('an upstream that hangs up, or speaks something else, is broken', async (t) => {
  const hungUp = failureOf(await errorOf(`http://${await listening(t, null)}`), BASE);
  t.match(hungUp, { code: 'upstream_broken', status: 503 });
  t.equal(hungUp.message, `The upstream ${BASE} closed the connection before its answer was complete.`);
  const other = failureOf(await errorOf(`http://${await listening(t, 'SSH-2.0-OpenSSH\r\n')}`), BASE);
  t.match(other, { code: 'upstream_broken', message: /not an HTTP answer/ });
});

t.test(
  'once the request was on its way, the upstream may have worked: it is broken, not unreachable',
  async (t) => {
    for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']) {
      const error = Object.assign(new Error(code), { code });
      t.equal(failureOf(error, BASE, true).code, 'upstream_broken', code);
      t.not(failureOf(error, BASE).code, 'upstream_broken', code);
    }
  },
);

t.test('what is thrown by the proxy itself is not said to be the upstream', async (t) => {
  const bug = new TypeError('x is not a function');
  t.match(failureOf(bug, BASE, true), { code: 'internal_error', source: 'proxy', cause: bug });
});

t.test('codes are found however deep they lie', async (t) => {
  const coded = (code: string): Error => Object.assign(new Error(code), { code });
  t.equal(failureOf(coded('ETIMEDOUT'), BASE).code, 'connect_timeout');
  t.equal(
    failureOf(new AggregateError([coded('ECONNREFUSED'), coded('x')]), BASE).code,
    'upstream_unreachable',
  );
  t.equal(
    failureOf(new Error('outer', { cause: coded('CERT_HAS_EXPIRED') }), BASE).code,
    'upstream_unreachable',
  );
  for (const odd of [null, 'text', new AggregateError([]), new Error('no code'), coded('')]) {
    t.equal(failureOf(odd, BASE).code, 'upstream_broken');
  }
});

t.test("an error's own text is for the log, never for a client", async (t) => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:443 Bearer sk-secret'), {
    code: 'ECONNREFUSED',
  });
  const fault = failureOf(cause, BASE);
  t.notMatch(fault.message, /10\.1\.2\.3|sk-secret/);
  t.equal(fault.cause, cause);
});

t.test('a machine without a socket to give blames neither the upstream nor an HTTP proxy before it', (t) => {
  const error = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
  for (const one of [error, new ProxyFailure(error)])
    t.match(failureOf(one, BASE), {
      code: 'overloaded',
      status: 503,
      source: 'proxy',
      message: /no file descriptor left/,
    });
  t.end();
});
