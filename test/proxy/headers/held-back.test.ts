// What of an upstream's response headers no client gets, and what the page of the console gets.
import t from 'tap';
import { isHeldBack, keepForThePage } from '../../../proxy/headers/held-back.ts';

t.test('what acts on a browser or on a proxy in front is held back; what tells of a call passes', (t) => {
  for (const name of [
    'set-cookie',
    'clear-site-data',
    'refresh',
    'strict-transport-security',
    'content-security-policy',
    'service-worker-allowed',
    'location',
    'alt-svc',
    'nel',
    'report-to',
    'access-control-allow-origin',
    'cross-origin-opener-policy',
    'x-accel-redirect',
    'x-accel-expires',
    'x-sendfile',
    'x-lighttpd-send-file',
    'x-reproxy-url',
    'www-authenticate',
    'connection',
    'surrogate-control',
  ])
    t.ok(isHeldBack(name), name);
  for (const name of [
    'openai-organization',
    'anthropic-ratelimit-tokens-limit',
    'x-ratelimit-limit-requests',
    'x-request-id',
    'retry-after',
    'cf-ray',
    'server-timing',
    'server',
    'content-disposition',
    'accept-ranges',
    'x-a',
    'link',
    '',
  ])
    t.notOk(isHeldBack(name), name);
  t.end();
});

t.test('the page of the console gets a list of names, and nothing else', (t) => {
  const list = [
    'content-type',
    'a',
    'x-note',
    'b',
    'openai-version',
    'c',
    'x-frame-options',
    'd',
    'x-request-id',
    'e',
    'llm_provider-x-litellm-key-spend',
    '1',
    'server',
    'f',
  ];
  keepForThePage(list);
  t.same(list, [
    'content-type',
    'a',
    'openai-version',
    'c',
    'x-request-id',
    'e',
    'llm_provider-x-litellm-key-spend',
    '1',
  ]);
  t.end();
});
