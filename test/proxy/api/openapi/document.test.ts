// The description of the API: it has every route and no other, and what the proxy answers is what it describes.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import t from 'tap';
import type { Document, Operation } from '../../../../proxy/api/openapi/document.ts';
import { allRows, RouteTable } from '../../../../proxy/api/route-table.ts';
import { manage } from '../../../support/manage.ts';
import { chat, defaultConfig, KEY, send, startRig, type Rig } from '../../../support/rig.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const COMMITTED = JSON.parse(readFileSync(join(ROOT, 'schemas/openapi.json'), 'utf8')) as Document;

interface Found {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}
const operationsOf = (document: Document): readonly Found[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  );

t.test('every route of the table is in it, and nothing else', (t) => {
  const rows = allRows();
  const gets = new Set(rows.filter(({ method }) => method === 'GET').map(({ path }) => path));
  const served = rows
    .filter(({ method, path }) => !['HEAD', 'OPTIONS'].includes(method) || !gets.has(path))
    .map(({ method, path }) => `${method} ${path}`);
  const described = operationsOf(COMMITTED).flatMap(({ method, path, operation }) =>
    [path, ...(operation['x-aliases'] ?? [])].map(
      (one) => `${method} ${one.replaceAll(/\{\w+\}/g, '{param}')}`,
    ),
  );
  t.same(described.toSorted(), served.toSorted());
  t.ok(described.length > 200, `${described.length} routes`);
  const ids = operationsOf(COMMITTED).map(({ operation }) => operation.operationId);
  t.equal(new Set(ids).size, ids.length, 'ids are unique');
  t.end();
});

t.test('the table of a proxy is the table that is described', async (t) => {
  const rig = await startRig(t);
  const owner = {
    reloader: rig.gateway.reloader,
    state: { draining: false, ownUrl: null },
    hasSessions: false,
    consoleFolder: null,
  };
  t.same(new RouteTable(owner, null).rows, allRows());
  const { status, text } = await send(rig.url, 'GET', '/openapi.json', undefined, { authorization: '' });
  t.equal(status, 200);
  t.same(JSON.parse(text), COMMITTED, 'served as committed');
});

t.test('keys: what needs one says so', async (t) => {
  const rig = await startRig(t);
  for (const { method, path, operation } of operationsOf(COMMITTED)) {
    const asked = path.replaceAll(/\{\w+\}/g, 'demo');
    const body = operation.requestBody === undefined ? undefined : {};
    const { status } = await send(rig.url, method, asked, body, { authorization: '' });
    // Those of the console answer in their own ways: to its page, by a cookie, with a body.
    if (path.startsWith('/ui') && operation.security.length === 0) t.not(status, 401, `${method} ${path}`);
    else if (operation.security.length === 0) t.equal(status, 200, `${method} ${path}`);
    else t.equal(status, 401, `${method} ${path}`);
  }
});

/** The administration as a client does it, in this order. */
const CALLS: readonly (readonly [route: string, path?: string, body?: unknown])[] = [
  ['GET /v1/models'],
  ['GET /v1/models/{model}', '/v1/models/demo'],
  ['GET /v1/model/info'],
  ['GET /model_group/info'],
  ['POST /organization/new', '', { organization_alias: 'acme', organization_id: 'org' }],
  ['GET /organization/info', '/organization/info?organization_id=org'],
  ['GET /organization/list'],
  ['PATCH /organization/update', '', { organization_id: 'org', models: ['demo'] }],
  ['POST /budget/new', '', { budget_id: 'b', max_budget: 5, budget_duration: '30d' }],
  ['POST /budget/update', '', { budget_id: 'b', max_budget: 6 }],
  ['POST /budget/info', '', { budgets: ['b'] }],
  ['GET /budget/list'],
  ['GET /budget/settings', '/budget/settings?budget_id=b'],
  ['POST /team/new', '', { team_id: 'core', team_alias: 'Core', max_budget: 100 }],
  ['POST /user/new', '', { user_id: 'ada', user_email: 'ada@example.com', teams: ['core'] }],
  ['POST /user/update', '', { user_id: 'ada', user_alias: 'Ada' }],
  ['POST /team/member_add', '', { team_id: 'core', member: { user_id: 'bob', role: 'user' } }],
  ['POST /team/member_update', '', { team_id: 'core', user_id: 'bob', max_budget_in_team: 3 }],
  ['POST /team/update', '', { team_id: 'core', models: ['compat'] }],
  ['POST /team/model/add', '', { team_id: 'core', models: ['demo'] }],
  ['POST /team/model/delete', '', { team_id: 'core', models: ['demo'] }],
  ['POST /team/update', '', { team_id: 'core', team_alias: 'core' }],
  ['POST /team/block', '', { team_id: 'core' }],
  ['POST /team/unblock', '', { team_id: 'core' }],
  ['GET /team/available'],
  ['POST /team/permissions_update', '', { team_id: 'core', team_member_permissions: [] }],
  ['GET /team/permissions_list', '/team/permissions_list?team_id=core'],
  ['POST /key/generate', '', { key_alias: 'ci', team_id: 'core', user_id: 'ada', budget_id: 'b' }],
  ['POST /key/service-account/generate', '', { key_alias: 'robot', team_id: 'core' }],
  ['GET /team/info', '/team/info?team_id=core'],
  ['GET /team/list'],
  ['GET /v2/team/list'],
  ['POST /key/update', '', { key: 'ci', max_budget: null, metadata: { a: 1 } }],
  ['POST /v2/key/info', '', { key_aliases: ['ci'] }],
  ['GET /key/list'],
  ['GET /key/list', '/key/list?return_full_object=true'],
  ['GET /key/aliases'],
  ['POST /key/health', '', {}],
  ['GET /user/info', '/user/info?user_id=ada'],
  ['GET /user/list'],
  ['GET /spend/budgets'],
  ['POST /customer/new', '', { user_id: 'end', max_budget: 1 }],
  ['GET /customer/info', '/customer/info?end_user_id=end'],
  ['POST /customer/update', '', { user_id: 'end', alias: 'End' }],
  ['POST /customer/block', '', { user_ids: ['end'] }],
  ['POST /customer/unblock', '', { user_ids: ['end'] }],
  ['GET /customer/list'],
  ['POST /customer/delete', '', { user_ids: ['end'] }],
  ['POST /access_group/new', '', { access_group: 'fast', model_names: ['demo'] }],
  ['GET /access_group/list'],
  ['GET /access_group/{group}/info', '/access_group/fast/info'],
  ['PUT /access_group/{group}/update', '/access_group/fast/update', { model_names: ['compat'] }],
  ['DELETE /access_group/{group}/delete', '/access_group/fast/delete'],
  ['POST /key/delete', '', { key_aliases: ['ci', 'robot'] }],
  ['POST /budget/delete', '', { id: 'b' }],
  ['POST /team/member_delete', '', { team_id: 'core', user_id: 'bob' }],
  ['POST /user/delete', '', { user_ids: ['ada'] }],
  ['POST /team/delete', '', { team_ids: ['core'] }],
  ['DELETE /organization/delete', '', { organization_ids: ['org'] }],
  ['GET /spend/logs'],
  ['GET /spend/logs', '/spend/logs?start_date=2020-01-01&end_date=2099-01-01'],
  ['GET /spend/logs/ui', '/spend/logs/ui?start_date=2020-01-01&end_date=2099-01-01'],
  ['GET /spend/tags'],
  ['GET /spend/keys'],
  ['GET /spend/users'],
  ['GET /spend/report', '/spend/report?by=model'],
  ['GET /global/spend/report', '/global/spend/report?start_date=2020-01-01&end_date=2099-01-01'],
  ['GET /user/daily/activity', '/user/daily/activity?start_date=2020-01-01&end_date=2099-01-01'],
  ['GET /team/daily/activity', '/team/daily/activity?start_date=2020-01-01&end_date=2099-01-01'],
  ['GET /tag/daily/activity', '/tag/daily/activity?start_date=2020-01-01&end_date=2099-01-01'],
  ['POST /spend/calculate', '', { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }],
  ['POST /config/reload', '', { dry_run: true }],
  ['GET /health'],
  ['GET /health/liveness'],
  ['GET /health/readiness'],
  ['GET /doctor'],
  ['GET /conversations/braked'],
  ['GET /'],
  ['GET /openapi.json'],
];

/** Refusals, each with the status that is described for it. */
const REFUSALS: readonly (readonly [route: string, status: number, path?: string, body?: unknown])[] = [
  ['POST /key/generate', 422, '', { models: 'demo' }],
  ['POST /key/generate', 400, '', { max_budget: -1 }],
  ['POST /key/update', 404, '', { key: 'nobody' }],
  ['GET /team/info', 422, '/team/info'],
  ['GET /team/info', 404, '/team/info?team_id=none'],
  ['POST /budget/delete', 404, '', { id: 'none' }],
  ['GET /spend/report', 400, '/spend/report?by=none'],
  ['GET /v1/models/{model}', 404, '/v1/models/none'],
  ['POST /model/new', 400, '', {}],
  ['POST /config/reload', 400, '', { dryrun: true }],
];

const ajv = new Ajv2020.Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(COMMITTED, 'openapi');

/** Whether an answer is as described. @returns what is wrong; '' = nothing */
function compared(route: string, status: number, body: unknown): string {
  const [method = '', path = ''] = route.split(' ');
  const operation = COMMITTED.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) return `${route} is not described`;
  const response = operation.responses[String(status)];
  if (response === undefined) return `${route} does not describe ${status}`;
  const schema = response.content?.['application/json']?.schema;
  if (schema === undefined) return `${route} describes no JSON for ${status}`;
  const json = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/');
  const validate = ajv.compile(JSON.parse(json) as object);
  return validate(body) ? '' : `${route}: ${ajv.errorsText(validate.errors)}`;
}

const call = async (rig: Rig, route: string, path = '', body?: unknown): Promise<[number, unknown]> => {
  const [method = '', described = ''] = route.split(' ');
  const { status, json } = await manage(rig, `${method} ${path === '' ? described : path}`, body);
  return [status, json];
};

t.test('answers are as described', async (t) => {
  const rig = await startRig(t, { config: (demo) => `${defaultConfig(demo)}brake: {}\n` });
  await chat(rig, 'demo', {}, { 'x-litellm-tags': 'a,b' });
  await rig.rows();
  for (const [route, path, body] of CALLS) {
    const [status, answer] = await call(rig, route, path, body);
    t.equal(status, 200, `${route}: ${JSON.stringify(answer).slice(0, 200)}`);
    t.equal(compared(route, status, answer), '', route);
  }
  const { key } = (await manage(rig, 'POST /key/generate', {})).json;
  for (const what of ['POST /key/block', 'POST /key/unblock']) {
    const [status, answer] = await call(rig, what, '', { key });
    t.equal(compared(what, status, answer), '', what);
  }
  const info = await call(rig, 'GET /key/info', `/key/info?key=${String(key)}`);
  t.equal(compared('GET /key/info', ...info), '');
  const again = await call(rig, 'POST /key/{key}/regenerate', `/key/${String(key)}/regenerate`, {});
  t.equal(compared('POST /key/{key}/regenerate', ...again), '');
});

t.test('refusals are as described', async (t) => {
  const rig = await startRig(t);
  for (const [route, expected, path, body] of REFUSALS) {
    const [status, answer] = await call(rig, route, path, body);
    t.equal(status, expected, `${route}: ${JSON.stringify(answer).slice(0, 200)}`);
    t.equal(compared(route, status, answer), '', route);
  }
  const stranger = await send(rig.url, 'GET', '/team/list', undefined, { authorization: 'Bearer sk-x' });
  t.equal(compared('GET /team/list', stranger.status, JSON.parse(stranger.text)), '');
});

/** Events take their time, or have no end; their parameters are tested with them. */
const isStream = ({ responses }: Operation): boolean =>
  responses['200']?.content?.['text/event-stream'] !== undefined;

/** Of parameters that a call must have. */
const EXAMPLES: Readonly<Record<string, string>> = { start_date: '2026-11-01', end_date: '2026-11-02' };

t.test('an empty parameter of a query is one that is not stated', async (t) => {
  const rig = await startRig(t);
  let count = 0;
  for (const { method, path, operation } of operationsOf(COMMITTED)) {
    const inQuery = (operation.parameters ?? []).filter((one) => one.in === 'query');
    const optional = inQuery.filter(({ required, name }) => !required && EXAMPLES[name] === undefined);
    if (method !== 'GET' || optional.length === 0 || isStream(operation)) continue;
    const needed = inQuery.filter((one) => !optional.includes(one));
    const base = needed.map(({ name }) => `${name}=${EXAMPLES[name] ?? 'some'}`).join('&');
    const ask = (more: string): ReturnType<typeof send> =>
      send(rig.url, 'GET', `${path.replaceAll(/\{\w+\}/g, 'some')}?${base}${more}`);
    const without = await ask('');
    const empty = await ask(optional.map(({ name }) => `&${name}=`).join(''));
    t.equal(empty.status, without.status, `${path}: ${empty.text.slice(0, 200)}`);
    count += optional.length;
  }
  t.ok(count > 40, `${count} parameters`);
});

t.test('nothing of the installation is in it', async (t) => {
  const rig = await startRig(t);
  const parts = await Promise.all(
    ['/', '/openapi.json', '/docs'].map((path) =>
      send(rig.url, 'GET', path, undefined, { authorization: '' }),
    ),
  );
  const version = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string })
    .version;
  for (const { text } of parts) {
    t.notMatch(
      text,
      new RegExp(`sk-upstream|${KEY}|127\\.0\\.0\\.1|${rig.port}|${version.replaceAll('.', '\\.')}`),
    );
  }
});
