// The names of our response headers and the lists made with them.
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import {
  responseHeaderNames,
  deploymentResponseHeaders,
} from '../../../proxy/headers/response-header-names.ts';

const NAMES = responseHeaderNames(dialectOf(DEFAULT_WORDS));

t.test('names follow the brand, and no two are alike', async (t) => {
  t.equal(NAMES.cost, 'x-litellm-response-cost');
  t.equal(responseHeaderNames(dialectOf({ ...DEFAULT_WORDS, brand: 'acme' })).callId, 'x-acme-call-id');
  t.same(
    Object.values(NAMES).map((name) => name.slice('x-litellm-'.length)),
    [
      ...[
        'call-id',
        'request-id',
        'session-id',
        'model-id',
        'model-group',
        'model-api-base',
        'version',
        'response-cost',
        'key-spend',
        'key-max-budget',
        'key-rpm-limit',
        'key-tpm-limit',
        'key-remaining',
        'overhead-duration-ms',
        'response-duration-ms',
        'timeout',
      ],
      ...[
        'attempted-retries',
        'max-retries',
        'attempted-fallbacks',
        'error-source',
        'brake',
        'original-call-id',
      ],
      ...['translated', 'dropped-params', 'counted-by'],
    ],
  );
  t.ok(Object.isFrozen(NAMES));
});

t.test('which deployment served is told by its id, its base URL and our version', async (t) => {
  const headers = deploymentResponseHeaders(
    NAMES,
    { id: 'one', group: 'm', apiBase: 'http://gateway' },
    3,
    '1.2.3',
  );
  t.same(headers, [
    ...[
      'x-litellm-model-id',
      'one',
      'x-litellm-model-api-base',
      'http://gateway',
      'x-litellm-version',
      '1.2.3',
      'x-litellm-max-retries',
      '3',
      'x-litellm-model-group',
      'm',
    ],
  ]);
});
