// A path of LiteLLM's that is not here says what there is instead.
import t from 'tap';
import { insteadOf } from '../../../proxy/api/absent-routes.ts';
import { send, startRig } from '../../support/rig.ts';

t.test('what there is instead', async (t) => {
  const rig = await startRig(t);
  for (const [path, said] of [
    ['/credentials', /credential_list/],
    ['/credentials/by_name/x', /credential_list/],
    ['/v1/access_group', /\/access_group\/new/],
    ['/v2/guardrails/list', /no guardrails/],
    ['/provider/budgets', /\/spend\/budgets/],
    ['/cost/estimate', /\/spend\/calculate/],
    ['/v1/agents', /no agents/],
    ['/jwt/key/mapping/new', /\/key\/generate/],
    ['/health/services', /section alerts/],
    ['/team/bulk_member_add', /\/team\/member_add takes a list/],
  ] as const) {
    const answer = await send(rig.url, 'POST', path, {});
    t.equal(answer.status, 404, path);
    t.match(answer.text, said);
    t.match(answer.text, '"code":"route_not_found"');
  }
});

t.test('Gemini has no embeddings here: the refusal names the endpoint that there is', async (t) => {
  const rig = await startRig(t);
  for (const act of ['embedContent', 'batchEmbedContents']) {
    const answer = await send(rig.url, 'POST', `/v1beta/models/m:${act}`, {});
    t.equal(answer.status, 405, act);
    t.match(answer.text, /Embeddings are served at POST \/v1\/embeddings/);
    t.match(
      JSON.parse(answer.text),
      { error: { code: 405, status: 'INVALID_ARGUMENT' } },
      'as Google puts it',
    );
  }
});

t.test('nothing is said of other paths', async (t) => {
  for (const path of ['/', '/nothing', '/credentialsx', '/v1', '/x/credentials', '/v1/files'])
    t.equal(insteadOf(path), '', path);
});

t.test("refusals of models are Anthropic's for its clients", async (t) => {
  const rig = await startRig(t);
  const ask = (path: string, headers: Record<string, string>) =>
    send(rig.url, 'GET', path, undefined, headers);
  const version = { 'anthropic-version': '2023-06-01' };
  for (const path of ['/v1/models/nope', '/models/nope']) {
    const answer = await ask(path, version);
    t.equal(answer.status, 404, path);
    t.match(JSON.parse(answer.text), { type: 'error', error: { type: 'not_found_error', message: /nope/ } });
  }
  const refused = await ask('/v1/models', { ...version, authorization: 'Bearer sk-other' });
  t.match(JSON.parse(refused.text), { type: 'error', error: { type: 'authentication_error' } });
  t.match(JSON.parse((await ask('/v1/models/nope', {})).text), { error: { code: 'model_not_found' } });
});
