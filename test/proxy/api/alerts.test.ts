// `GET /alerts` over a running proxy: what became of an alert at each of its receivers, pages, who may read and acknowledge it, and
// what the chain says of it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { receiver } from '../../support/alert-receiver.ts';
import { list, manage, managed, newKey, type Json } from '../../support/manage.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';

const PRICED = 'input_cost_per_token: 0.001, output_cost_per_token: 0.001';
const HOSTILE = `"><img src=x onerror=alert(1)>`;

t.test('alerts and what became of them', async (t) => {
  const [well, gone] = [await receiver(t), await receiver(t)];
  gone.answersAlways(410);
  const rig = await startRig(t, {
    config: (demo: DemoGateway) => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", ${PRICED} }
general_settings: { master_key: ${KEY} }
alerts:
  webhooks:
    - { name: well, url: "${well.url}", kinds: [soft_budget] }
    - { name: gone, url: "${gone.url}/secret-path", kinds: [soft_budget] }
`,
  });
  const get = async (path: string, headers = {}): Promise<Json> => {
    const { text } = await send(rig.url, 'GET', path, undefined, headers);
    return JSON.parse(text) as Json;
  };
  /** Asks until the answer fits. */
  const until = async (path: string, fits: (body: Json) => boolean): Promise<Json> => {
    for (;;) {
      const body = await get(path);
      if (fits(body)) return body;
    }
  };
  t.equal((await chat(rig, 'demo')).status, 200);
  t.notOk(
    existsSync(join(rig.folder, 'data/history.db')),
    'no store, and no thread of it, before it is needed',
  );
  t.match(await get('/alerts'), { alerts: [], next: null, channels: [{ name: 'well' }, { name: 'gone' }] });

  const soft = await newKey(rig, { key_alias: HOSTILE, soft_budget: 0.000001 });
  t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${soft}` })).status, 200);
  const { alerts } = await until('/alerts', ({ alerts: found }) => {
    const deliveries = list(found).flatMap((one) => list(one['deliveries']));
    return deliveries.length === 2 && deliveries.every(({ state }) => state !== 'pending');
  });
  t.match(alerts, [
    {
      kind: 'soft_budget',
      level: 'warning',
      subject: { kind: 'key', name: `key ${HOSTILE}` },
      text: /^Soft budget reached: key "><img/,
      state: 'failed',
      deliveries: [
        { channel: 'well', state: 'delivered', attempts: 1, reason: null },
        { channel: 'gone', state: 'failed', attempts: 1, reason: 'the receiver answers 410' },
      ],
    },
  ]);
  t.notMatch(JSON.stringify(alerts), 'secret-path');

  await t.test('an alert without a receiver is listed too, and pages follow each other', async (t) => {
    const hard = await newKey(rig, { key_alias: 'hard', max_budget: 100 });
    t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${hard}` })).status, 200);
    await managed(rig, 'POST /key/update', { key: hard, max_budget: 0.001 });
    t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${hard}` })).status, 422);
    await until('/alerts?state=unsent', ({ alerts: found }) => list(found).length === 1);
    const first = await get('/alerts?limit=1');
    t.match(first, { alerts: [{ kind: 'budget_used_up', level: 'error', state: 'unsent', deliveries: [] }] });
    t.match(await get(`/alerts?limit=1&before=${String(first['next'])}`), {
      alerts: [{ kind: 'soft_budget' }],
      next: null,
    });
    const { headers } = await send(rig.url, 'GET', '/alerts');
    const again = await send(rig.url, 'GET', '/alerts', undefined, { 'if-none-match': headers.etag ?? '' });
    t.equal(again.status, 304);
  });

  await t.test('the chain says that somebody was not told', async (t) => {
    const { findings } = await get('/chain');
    t.match(
      list(findings).find(({ text }) => String(text).includes('given up')),
      {
        text: '1 alert was given up: gone did not take it (the receiver answers 410).',
        link: 'system?tab=alerts&state=failed',
      },
    );
    t.match(
      list(findings).find(({ text }) => String(text).startsWith('Budget used up: key hard')),
      { level: 'warning', mend: 'Raise the budget, or wait until it begins anew.' },
    );
  });

  await t.test('somebody has seen one: by whom, when, with a note; the open ones come first', async (t) => {
    const [newest, older] = list((await get('/alerts'))['alerts']);
    const path = `/alerts/${String(newest?.['id'])}`;
    const { key: admin } = await managed(rig, 'POST /user/new', {
      user_id: 'jane',
      user_alias: HOSTILE,
      user_role: 'proxy_admin',
    });
    const note = `  on it, ${HOSTILE} \u0007  `;
    const seen = { by: HOSTILE, user_id: 'jane', note: note.trim(), at: /^20/ };
    t.match(await managed(rig, `POST ${path}/acknowledge`, { note }, String(admin)), {
      id: newest?.['id'],
      state: 'unsent',
      acknowledged: seen,
    });
    t.match(await get('/alerts'), {
      alerts: [
        { id: older?.['id'], acknowledged: null },
        { id: newest?.['id'], acknowledged: seen },
      ],
    });
    const first = await get('/alerts?limit=1');
    t.match(first, { alerts: [{ id: older?.['id'] }] });
    t.match(await get(`/alerts?limit=1&before=${String(first['next'])}`), {
      alerts: [{ id: newest?.['id'] }],
      next: null,
    });
    t.match(await get('/alerts?acknowledged=true'), { alerts: [{ id: newest?.['id'] }], next: null });
    t.match(await get('/alerts?acknowledged=false'), { alerts: [{ id: older?.['id'] }], next: null });
    t.match(await get('/alerts?acknowledged=true&state=failed'), { alerts: [], next: null });
    t.match(await managed(rig, `POST ${path}/acknowledge`, {}), { acknowledged: seen }, 'the first stays');

    const [applied, unchanged] = rig.log.filter(({ action }) => action === 'alert_acknowledge');
    t.match(applied, { outcome: 'applied', alert: newest?.['id'], by: HOSTILE, note: note.trim() });
    t.match(unchanged, { outcome: 'unchanged', by: 'master key', note: null });
    t.match(await managed(rig, `POST ${path}/reopen`, {}), { acknowledged: null });
    t.match(
      rig.log.find(({ action }) => action === 'alert_reopen'),
      { outcome: 'applied', alert: newest?.['id'] },
    );
    t.match(await get('/alerts'), { alerts: [{ id: newest?.['id'] }, { id: older?.['id'] }] });
    t.match(await managed(rig, `POST ${path}/acknowledge`, { note: ' ' }), {
      acknowledged: { by: 'master key', user_id: null, note: null },
    });
  });

  await t.test('what cannot be acknowledged, and who may not', async (t) => {
    const [{ id } = {}] = list((await get('/alerts?acknowledged=false'))['alerts']);
    const path = `/alerts/${String(id)}`;
    for (const [body, param] of [
      [{ note: 1 }, 'note'],
      [{ note: 'x'.repeat(1_001) }, 'note'],
      [{ by: 'somebody else' }, 'by'],
    ] as const)
      t.match(await manage(rig, `POST ${path}/acknowledge`, body), {
        status: 400,
        json: { error: { code: 'invalid_parameter', param } },
      });
    for (const act of ['acknowledge', 'reopen'])
      t.match(await manage(rig, `POST /alerts/evt_${HOSTILE.slice(0, 3)}/${act}`, {}), {
        status: 404,
        json: { error: { code: 'alert_not_found' } },
      });
    const { key: viewer } = await managed(rig, 'POST /user/new', {
      user_id: 'w',
      user_role: 'proxy_admin_viewer',
    });
    for (const key of [String(viewer), soft])
      for (const act of ['acknowledge', 'reopen'])
        t.match(await manage(rig, `POST ${path}/${act}`, {}, key), { status: 403 });
    t.match(
      rig.log
        .filter((line) => line['error'] === 'admin_key_required' && line['action'] !== undefined)
        .map(({ action }) => action),
      ['alert_acknowledge', 'alert_reopen', 'alert_acknowledge', 'alert_reopen'],
    );
    t.match(await get('/alerts?acknowledged=false'), { alerts: [{ id }], next: null });
  });

  await t.test('wrong questions, and roles', async (t) => {
    for (const query of [
      'state=lost',
      'before=x',
      'before=1-',
      'limit=0',
      'limit=201',
      'limit=1e2',
      'limit=0x10',
      'limit=%201',
      'limit=1.0',
      'limit=%2B1',
      'acknowledged=yes',
      'acknowledged=__proto__',
    ])
      t.match(await get(`/alerts?${query}`), { error: { code: 'invalid_parameter' } }, query);
    const { key: viewer } = await managed(rig, 'POST /user/new', {
      user_id: 'v',
      user_role: 'proxy_admin_viewer',
    });
    const { key: user } = await managed(rig, 'POST /user/new', { user_id: 'u', user_role: 'internal_user' });
    for (const path of ['/alerts', '/spend/reconciliations']) {
      const as = (key: unknown) =>
        send(rig.url, 'GET', path, undefined, { authorization: `Bearer ${String(key)}` });
      t.equal((await as(viewer)).status, 200, `${path} for finance`);
      const refused = await as(user);
      t.equal(refused.status, 403, `${path} for a user`);
      t.match(JSON.parse(refused.text), { error: { message: /./ } });
      t.equal((await as(soft)).status, 403, `${path} for a key`);
    }
  });
});
