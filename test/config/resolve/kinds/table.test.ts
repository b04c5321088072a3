import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../../config/dialect.ts';
import { baseOf } from '../../../../config/resolve/api-base.ts';
import { compatKind } from '../../../../config/resolve/kinds/compat.ts';
import { proxyKind } from '../../../../config/resolve/kinds/proxy.ts';
import { splitModelName } from '../../../../config/resolve/kinds/table.ts';

const dialect = dialectOf(DEFAULT_WORDS);

t.test('what follows the prefix goes upstream verbatim', async (t) => {
  const cases: readonly [
    model: string,
    provider: string | undefined,
    kind: string | undefined,
    upstream: string,
  ][] = [
    ['litellm_proxy/a', undefined, 'proxy', 'a'],
    ['litellm_proxy/team/a', undefined, 'proxy', 'team/a'],
    ['openai/anthropic/claude', undefined, 'compat', 'anthropic/claude'],
    ['openai/openai/gpt-4o', undefined, 'compat', 'openai/gpt-4o'],
    ['openai/*', undefined, 'compat', '*'],
    ['anthropic/claude', 'openai', 'compat', 'anthropic/claude'],
    ['openai/gpt-4o', 'openai', 'compat', 'gpt-4o'],
    ['openai/gpt-4o', 'litellm_proxy', 'proxy', 'openai/gpt-4o'],
    ['plain', 'litellm_proxy', 'proxy', 'plain'],
    ['openai', undefined, undefined, 'openai'],
    ['OpenAI/a', undefined, undefined, 'a'],
    ['azure/a', undefined, undefined, 'a'],
  ];
  for (const [model, provider, kind, upstream] of cases) {
    const name = splitModelName(model, provider, dialect);
    t.strictSame([name.kind?.name, name.upstream], [kind, upstream], `${model} ${provider ?? ''}`);
  }
});

t.test('proxy-type: the path is api_base + /v1, compat-type: api_base as it is', async (t) => {
  const cases = [
    [proxyKind, 'https://h.example.com', 'https://h.example.com', '/v1'],
    [proxyKind, 'https://h.example.com//', 'https://h.example.com', '/v1'],
    [proxyKind, 'http://127.0.0.1:4010/team/', 'http://127.0.0.1:4010', '/team/v1'],
    [proxyKind, 'https://h.example.com/v1beta', 'https://h.example.com', '/v1beta/v1'],
    [proxyKind, 'HTTPS://H.example.com:443/a', 'https://h.example.com', '/a/v1'],
    [compatKind, 'https://h.example.com/v1', 'https://h.example.com', '/v1'],
    [compatKind, 'https://h.example.com/openai/v1/', 'https://h.example.com', '/openai/v1'],
    [compatKind, 'https://h.example.com/v1beta/openai', 'https://h.example.com', '/v1beta/openai'],
    [compatKind, 'http://[::1]:8080/v1', 'http://[::1]:8080', '/v1'],
  ] as const;
  for (const [kind, text, origin, pathPrefix] of cases)
    t.match(baseOf(text, kind), { ok: true, base: { origin, pathPrefix } }, text);
});

t.test('an api_base that does not fit is told the one that does', async (t) => {
  const cases = [
    [proxyKind, 'https://h.example.com/v1', 'https://h.example.com'],
    [proxyKind, 'https://h.example.com/v1/v1///', 'https://h.example.com'],
    [compatKind, 'https://h.example.com', 'https://h.example.com/v1'],
    [compatKind, 'https://h.example.com/v10a/../x', 'https://h.example.com/x/v1'],
    [compatKind, 'https://v1.example.com/', 'https://v1.example.com/v1'],
    [compatKind, 'https://h.example.com/v1/models', 'https://h.example.com/v1'],
    [proxyKind, 'https://h.example.com/chat/completions', 'https://h.example.com'],
    [proxyKind, 'https://u:sk-p@h.example.com/x', 'https://h.example.com/x'],
    [compatKind, 'https://h.example.com/v1?', 'https://h.example.com/v1'],
    [proxyKind, 'ftp://h.example.com', null],
    [proxyKind, 'h.example.com', null],
    [proxyKind, '', null],
    [proxyKind, 'https://', null],
  ] as const;
  for (const [kind, text, instead] of cases) {
    const check = baseOf(text, kind);
    t.match(check, { ok: false, instead }, text);
    t.notMatch(JSON.stringify(check), /sk-p/);
    if (instead !== null) t.ok(baseOf(instead, kind).ok, `${instead} is right`);
  }
});
