// Planted faults, and the hop and line that the doctor names for each: on real sockets, by the command line.
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { startUpstream, type ReceivedCall } from '../../support/call.ts';
import { freePort } from '../../support/free-port.ts';
import { noNginx, startNginx } from './fixture/nginx.ts';
import { codesOf, diagnose, entry, errorOf, PATIENT } from './fixture/diagnose.ts';

const LIST = JSON.stringify({ object: 'list', data: [{ id: 'model-a', object: 'model', owned_by: 'x' }] });

/** A gateway that lists model-a, and answers calls as `answer` does. */
const gatewayOf =
  (answer: (got: ReceivedCall) => void) =>
  (got: ReceivedCall): void => {
    if (got.req.method === 'POST') return answer(got);
    got.res.writeHead(200, { 'content-type': 'application/json' }).end(LIST);
  };

const json = ({ res }: ReceivedCall, status: number, body: object): void =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

t.test('a chain in order has no finding, and costs nothing', async (t) => {
  const demo = await startDemoGateway({ acceptKeys: ['sk-gateway-secret-1'] });
  t.teardown(() => demo.close());
  const { code, report } = await diagnose(
    t,
    entry('a', 'litellm_proxy/demo-model', demo.url) + entry('b', 'litellm_proxy/demo-tools', demo.url),
  );
  t.equal(code, 0);
  t.same(codesOf(report), []);
  t.equal(report.verdict, 'ok');
  t.equal(report.summary, 'no fault was found');
  t.ok(report.passed.some(({ check, seen }) => check === 'headers' && /identity headers arrive/.test(seen)));
  const paths = demo.seen.map(({ method, path }) => `${method} ${path}`);
  t.same(paths, ['GET /v1/models', 'POST /v1/chat/completions'], 'two entries share the questions');
  t.match(demo.seen[1]?.body.toString(), /demo-echo/, 'the one call is the echo of the demo gateway');
});

t.test('api_base with /v1 where the prefix adds it, and without where it does not', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const twice = await diagnose(t, entry('a', 'litellm_proxy/demo-model', `${demo.url}/v1`));
  t.equal(twice.code, 1);
  const first = errorOf(twice.report);
  t.match(first, { code: 'TL-1105', place: 'gateway.yaml:5', hop: 'configuration' });
  t.match(first.fix, new RegExp(`${demo.url}$`), 'says what to write');
  t.ok(
    twice.report.passed.some(({ area, check }) => area === 'gateway' && check === 'key'),
    'the right spelling was tried, and answers',
  );
  const none = await diagnose(t, entry('a', 'openai/demo-model', demo.url));
  t.match(errorOf(none.report), { code: 'TL-1105', fix: new RegExp(`${demo.url}/v1`) });
  t.ok(none.report.passed.some(({ area, check }) => area === 'gateway' && check === 'key'));
});

t.test('a base that only the gateway can tell is wrong: the others are tried', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const twice = await diagnose(t, entry('a', 'openai/demo-model', `${demo.url}/v1/v1`));
  t.match(errorOf(twice.report), {
    code: 'TL-1502',
    place: 'gateway.yaml:5',
    hop: 'configuration',
    fix: `write api_base: ${demo.url}/v1 (openai/ takes api_base as it is, with /v1)`,
  });
  const elsewhere = await startUpstream(t, (got) => {
    if (got.req.url === '/openai/v1/models') return json(got, 200, JSON.parse(LIST) as object);
    got.res.writeHead(404, { 'content-type': 'text/html' }).end('<html>Not Found</html>');
  });
  const { report } = await diagnose(t, entry('a', 'litellm_proxy/model-a', elsewhere));
  t.match(errorOf(report), { code: 'TL-1502', fix: new RegExp(`api_base: ${elsewhere}/openai `) });
  const nowhere = await startUpstream(t, (got) => json(got, 404, { error: { message: 'Not Found' } }));
  t.match(errorOf((await diagnose(t, entry('a', 'litellm_proxy/model-a', nowhere))).report), {
    code: 'TL-1503',
  });
});

t.test('a gateway without a list is no fault', async (t) => {
  const url = await startUpstream(t, (got) => {
    if (got.req.method === 'GET') return json(got, 404, { error: { message: 'no such route' } });
    json(got, 400, { error: { message: 'model is required' } });
  });
  const { code, report } = await diagnose(t, entry('a', 'openai/model-a', `${url}/v1`));
  t.equal(code, 0);
  t.match(report.findings, [{ code: 'TL-1507', level: 'info' }]);
});

t.test('a wrong key is named with its line, and never shown, whatever the gateway repeats', async (t) => {
  const url = await startUpstream(t, (got) => {
    const key = got.req.headers.authorization ?? '';
    json(got, 401, { error: { message: `Invalid proxy server token passed. Received API Key = ${key}` } });
  });
  const { code, report, text } = await diagnose(t, entry('a', 'litellm_proxy/model-a', url), PATIENT, {
    GW_KEY: 'odd:key/with+signs',
  });
  t.equal(code, 1);
  t.match(errorOf(report), { code: 'TL-1504', place: 'gateway.yaml:6', hop: 'gateway' });
  t.notMatch(text, /odd:key/);
  const open = await diagnose(
    t,
    `  - model_name: a\n    litellm_params: { model: litellm_proxy/m, api_base: "${url}" }\n`,
  );
  t.match(errorOf(open.report), { code: 'TL-1513', hop: 'configuration' }, 'no key at all is another fault');
});

t.test('a key with a newline behind it, as a file of a secret has it', async (t) => {
  const { report, text } = await diagnose(t, entry('a', 'openai/m', 'http://127.0.0.1:9/v1'), PATIENT, {
    GW_KEY: 'sk-with-newline-12\n',
  });
  t.match(errorOf(report), { code: 'TL-1106', place: 'gateway.yaml:6', hop: 'configuration' });
  t.notMatch(text, /with-newline/);
});

t.test('a variable that is not set hides no fault of the other entries', async (t) => {
  const port = await freePort();
  const models = entry('a', 'openai/m', 'http://127.0.0.1:9/v1').replace('GW_KEY', 'NOT_THERE');
  const { report } = await diagnose(t, models + entry('b', 'openai/m', `http://127.0.0.1:${port}/v1`));
  t.same(codesOf(report), ['TL-1104 gateway.yaml:6', 'TL-1402 gateway.yaml:10']);
  t.match(report.summary, /at fault: configuration \(TL-1104\); network \(TL-1402\)/);
});

t.test('an unknown model, with the nearest name', async (t) => {
  const url = await startUpstream(t, (got) => {
    const data = ['openai/gpt-4o', 'claude-sonnet'].map((id) => ({ id }));
    if (got.req.url === '/v1/models') return json(got, 200, { object: 'list', data });
    json(got, 404, { error: { message: 'no such model' } });
  });
  const { report } = await diagnose(
    t,
    entry('a', 'litellm_proxy/claude-sonet', url) + entry('b', 'litellm_proxy/gpt-4o', url),
  );
  t.same(codesOf(report), ['TL-1506 gateway.yaml:4', 'TL-1506 gateway.yaml:9']);
  t.match(report.findings[0]?.fix, /litellm_proxy\/claude-sonnet/);
  t.match(report.findings[1]?.fix, /litellm_proxy\/openai\/gpt-4o/, 'behind a prefix of its provider');
});

t.test('a login page, a redirect, a failing load balancer and something that is not HTTP', async (t) => {
  const page = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/html', server: 'sso' }).end('<html>Sign in</html>');
  });
  const moved = await startUpstream(t, ({ res }) => {
    res.writeHead(302, { location: 'https://login.example.com/start?token=abc' }).end();
  });
  const failing = await startUpstream(t, ({ res }) => {
    res.writeHead(503, { 'content-type': 'text/html', server: 'nginx' }).end('<html>503</html>');
  });
  const odd = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('220 mail.example.com ESMTP\r\n');
  });
  await new Promise<void>((listening) => odd.listen(0, '127.0.0.1', listening));
  t.teardown(() => odd.close());
  const { port } = odd.address() as AddressInfo;
  for (const [url, code, hop] of [
    [page, 'TL-1505', 'network'],
    [moved, 'TL-1511', 'configuration'],
    [failing, 'TL-1508', 'gateway'],
    [`http://127.0.0.1:${port}`, 'TL-1512', 'gateway'],
  ] as const) {
    const { report, text } = await diagnose(t, entry('a', 'litellm_proxy/model-a', url));
    t.match(errorOf(report), { code, hop, place: 'gateway.yaml:5' });
    t.notMatch(text, /token=/, 'no query');
  }
});

t.test('a name that does not resolve, and a port where nothing listens', async (t) => {
  const port = await freePort();
  const { report } = await diagnose(
    t,
    entry('a', 'openai/m', 'http://no-such-host.invalid/v1') +
      entry('b', 'openai/m', `http://127.0.0.1:${port}/v1`),
  );
  t.same(codesOf(report).toSorted(), ['TL-1401 gateway.yaml:5', 'TL-1402 gateway.yaml:10']);
  t.equal(report.hop, 'network');
});

t.test('a gateway that takes connections and never answers', async (t) => {
  const url = await startUpstream(t, () => undefined);
  const { report } = await diagnose(t, entry('a', 'openai/m', `${url}/v1`), ['--timeout', '2']);
  t.match(errorOf(report), { code: 'TL-1501', hop: 'gateway', seen: /no answer within 2000 ms/ });
});

t.test('clocks: one gateway that differs is at fault, two that agree blame this machine', async (t) => {
  const late = (got: ReceivedCall): void => {
    got.res.writeHead(200, {
      'content-type': 'application/json',
      date: new Date(Date.now() - 600_000).toUTCString(),
    });
    got.res.end(LIST);
  };
  const [one, two] = [await startUpstream(t, late), await startUpstream(t, late)];
  const { code, report } = await diagnose(t, entry('a', 'openai/model-a', `${one}/v1`));
  t.same(codesOf(report), ['TL-1510']);
  t.match(report.findings[0]?.seen, /its clock is (599|600|601|60\d|6[1-9]\d) s behind/);
  t.equal(code, 0, 'a warning');
  const strict = await diagnose(t, entry('a', 'openai/model-a', `${one}/v1`), [...PATIENT, '--strict']);
  t.equal(strict.code, 1);
  const both = await diagnose(
    t,
    entry('a', 'openai/model-a', `${one}/v1`) + entry('b', 'openai/model-a', `${two}/v1`),
  );
  t.ok(codesOf(both.report).includes('TL-1004'));
});

t.test('headers that are removed on the way to the gateway', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const between = await startUpstream(t, ({ req, res, body }) => {
    const pass = async (): Promise<void> => {
      const headers = { ...req.headers };
      delete headers['x-litellm-session-id'];
      const answer = await fetch(`${demo.url}${req.url}`, {
        method: req.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(req.method === 'POST' ? { body } : {}),
      });
      res.writeHead(answer.status, { 'content-type': 'application/json' });
      res.end(Buffer.from(await answer.arrayBuffer()));
    };
    void pass();
  });
  const { report } = await diagnose(t, entry('a', 'litellm_proxy/demo-model', between));
  t.match(errorOf(report), { code: 'TL-1607', hop: 'network', seen: /^x-litellm-session-id did not arrive/ });
});

const SEND = [...PATIENT, '--send', '--only', 'gateway,call'];

t.test('calls are made only when asked for, one for each entry', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const { code, report } = await diagnose(t, entry('a', 'litellm_proxy/demo-tools', demo.url), SEND);
  t.equal(code, 0);
  const checks = report.passed.filter(({ area }) => area === 'call').map(({ check }) => check);
  t.same(checks, ['call', 'usage', 'tool call', 'stream']);
  const calls = demo.seen.filter(
    ({ method, body }) => method === 'POST' && !/demo-echo/.test(body.toString()),
  );
  // On a busy machine the answer may come late and at once, which the doctor takes for collected: it asks for a longer one.
  t.ok(calls.length === 1 || calls.length === 2, `${calls.length} calls`);
  const [call] = calls;
  t.match(call?.rawHeaders.join(), /x-litellm-tags,doctor/i);
});

t.test('usage is missing', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const { report } = await diagnose(t, entry('a', 'litellm_proxy/demo-tools-no-usage', demo.url), SEND);
  t.same(codesOf(report), ['TL-1604 gateway.yaml:2']);
  const cut = await diagnose(t, entry('a', 'litellm_proxy/demo-tools-no-done', demo.url), SEND);
  t.same(codesOf(cut.report), ['TL-1606 gateway.yaml:2']);
});

t.test('a stream that somebody behind the proxy collects', { skip: noNginx }, async (t) => {
  const demo = await startDemoGateway({ eventIntervalMs: 400 });
  t.teardown(() => demo.close());
  const between = await startNginx(t, demo.url, '');
  const { report } = await diagnose(t, entry('a', 'litellm_proxy/demo-tools-interval', between), SEND);
  t.same(codesOf(report), ['TL-1605 gateway.yaml:2']);
  t.match(report.findings[0]?.seen, /events within \d+ ms, after \d+ ms of silence/);
});

t.test('a model without tools is no fault of the chain', async (t) => {
  const asked: string[] = [];
  const url = await startUpstream(
    t,
    gatewayOf((got) => {
      const body = JSON.parse(got.body.toString()) as Record<string, unknown>;
      asked.push(body['tools'] === undefined ? 'plain' : 'tools');
      if (body['tools'] !== undefined)
        return json(got, 400, { error: { message: 'model-a does not support parameters: tools' } });
      const chunk = {
        choices: [{ delta: { content: 'one two' }, finish_reason: 'stop' }],
        usage: { total_tokens: 3 },
      };
      got.res.writeHead(200, { 'content-type': 'text/event-stream' });
      got.res.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    }),
  );
  const { code, report } = await diagnose(t, entry('a', 'openai/model-a', `${url}/v1`), SEND);
  t.equal(code, 0);
  t.same(asked, ['tools', 'plain']);
  t.match(report.findings, [{ code: 'TL-1602', hop: 'provider', place: 'gateway.yaml:4' }]);
});

t.test('a model of responses is not asked in chat completions, which it does not have', async (t) => {
  const asked: string[] = [];
  const url = await startUpstream(
    t,
    gatewayOf((got) => {
      asked.push(got.req.url ?? '');
      json(got, 404, { error: { message: 'This model is only supported in v1/responses.' } });
    }),
  );
  const gateway = entry('a', 'openai/responses/model-a', `${url}/v1`);
  const { code, report } = await diagnose(t, gateway, SEND);
  t.equal(code, 0);
  t.same(codesOf(report), []);
  t.same(asked, []);
  t.match(report.skipped.find(({ check }) => check === 'call')?.because, /asked in another API/);
});

t.test('the error of a provider behind the gateway is the fault of the provider', async (t) => {
  const url = await startUpstream(
    t,
    gatewayOf((got) =>
      json(got, 500, { error: { message: 'litellm.InternalServerError: OpenAIException - overloaded' } }),
    ),
  );
  const { report } = await diagnose(t, entry('a', 'openai/model-a', `${url}/v1`), SEND);
  t.match(errorOf(report), { code: 'TL-1611', hop: 'provider' });
});

t.test('a model that takes max_completion_tokens alone is asked that way', async (t) => {
  const limits: string[] = [];
  const url = await startUpstream(
    t,
    gatewayOf((got) => {
      const body = JSON.parse(got.body.toString()) as Record<string, unknown>;
      limits.push('max_tokens' in body ? 'max_tokens' : 'max_completion_tokens');
      if ('max_tokens' in body)
        return json(got, 400, {
          error: { message: "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'" },
        });
      const call = { function: { name: 'report_status', arguments: '{}' } };
      const chunk = { choices: [{ delta: { tool_calls: [call] } }], usage: { total_tokens: 3 } };
      got.res.writeHead(200, { 'content-type': 'text/event-stream' });
      got.res.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    }),
  );
  const { report } = await diagnose(t, entry('a', 'openai/model-a', `${url}/v1`), SEND);
  t.same(codesOf(report), []);
  t.same(limits, ['max_tokens', 'max_completion_tokens']);
});

t.test('an outgoing proxy that is not there is named, not the gateway', async (t) => {
  const port = await freePort();
  const { report } = await diagnose(t, entry('a', 'openai/m', 'https://gateway.example.com/v1'), PATIENT, {
    https_proxy: `http://user:secret-word@127.0.0.1:${port}`,
  });
  const found = errorOf(report);
  t.match(found, { code: 'TL-1404', hop: 'network', seen: new RegExp(`127\\.0\\.0\\.1:${port}.*refused`) });
  t.notMatch(JSON.stringify(report), /secret-word/);
  const odd = await diagnose(t, entry('a', 'openai/m', 'https://gateway.example.com/v1'), PATIENT, {
    https_proxy: 'socks5://127.0.0.1:1',
  });
  t.match(errorOf(odd.report), { code: 'TL-1404', seen: /https_proxy must be the URL/ });
});

t.test('--mute and --only', async (t) => {
  const port = await freePort();
  const models = entry('a', 'openai/m', `http://127.0.0.1:${port}/v1`);
  const muted = await diagnose(t, models, [...PATIENT, '--mute', 'tl-1402']);
  t.equal(muted.code, 0);
  t.equal(muted.report.counts.muted, 1);
  const only = await diagnose(t, models, [...PATIENT, '--only', 'machine']);
  const broken = models.replace('GW_KEY', 'NOT_THERE');
  t.equal(
    (await diagnose(t, broken, [...PATIENT, '--only', 'gateway'])).code,
    1,
    'what is broken is said in any case',
  );
  t.same([...new Set(only.report.passed.map(({ area }) => area))], ['machine']);
  t.same(codesOf(only.report), []);
});
