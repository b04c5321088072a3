// Forms that change what is there, in a real browser: what somebody else has changed meanwhile, or made in another way, stays; what a
// step answers is seen where the step was made.
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { KEY, send, startRig } from '../../support/rig.ts';
import { becomes, CHROMIUM, openConsole, visit, WITHOUT } from '../browser.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }
  - model_name: stalls
    litellm_params: { model: openai/acme/demo-stall, api_base: "${demo.url}/compat/v1" }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: true
`;

interface Entry {
  readonly litellm_params: Readonly<Record<string, unknown>>;
  readonly model_info: { readonly id: string };
}

/** The page asks again for all that it shows, as when somebody comes back to it. */
const LOOK_AGAIN = `document.dispatchEvent(new Event('visibilitychange'))`;

t.test('editing in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t, { config });
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const { status, text } = await send(rig.url, method, path, body);
    t.equal(status, 200, `${path} ${status === 200 ? '' : text}`);
    return JSON.parse(text) as T;
  };
  const { ui, page, clean } = await openConsole(t, rig.url);
  const drawer = page.locator('dialog.drawer');
  const form = page.locator('dialog.dialog');
  const save = async (): Promise<void> => {
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.waitFor({ state: 'detached' });
  };
  const edit = (): Promise<void> => drawer.getByRole('button', { name: 'Edit', exact: true }).click();

  await t.test('two people change one key, team and user: neither undoes the other', async (t) => {
    const { token_id: key } = await ask<{ token_id: string }>('POST', '/key/generate', { max_budget: 5 });
    await ask('POST', '/team/new', { team_id: 'red', team_alias: 'Red', max_budget: 5 });
    await ask('POST', '/user/new', { user_id: 'ada', max_budget: 5, auto_create_key: false });
    const objects = [
      { place: `keys?id=${key}`, path: '/key/update', other: { key, max_budget: 20 }, field: 'Alias' },
      {
        place: 'teams?id=red',
        path: '/team/update',
        other: { team_id: 'red', team_alias: 'Crimson', max_budget: 20 },
        field: 'Calls a minute',
      },
      {
        place: 'users?id=ada',
        path: '/user/update',
        other: { user_id: 'ada', max_budget: 20 },
        field: 'Name',
      },
    ];
    for (const { place, path, other, field } of objects) {
      await visit(page, `${ui}${place}`);
      await edit();
      await ask('POST', path, other);
      await page.evaluate(LOOK_AGAIN);
      await drawer.getByText('/ $20.00').first().waitFor();
      if (field === 'Calls a minute') await form.locator('summary').click();
      await form.getByLabel(field, { exact: true }).fill('7');
      await save();
    }
    const { info } = await ask<{ info: object }>('GET', `/key/info?key=${key}`);
    t.match(info, { max_budget: 20, key_alias: '7' });
    const { team_info: team } = await ask<{ team_info: object }>('GET', '/team/info?team_id=red');
    t.match(team, { max_budget: 20, team_alias: 'Crimson', rpm_limit: 7 });
    const { user_info: user } = await ask<{ user_info: object }>('GET', '/user/info?user_id=ada');
    t.match(user, { max_budget: 20, user_alias: '7' });
    clean();
  });

  await t.test('a budget whose window is a word is no hindrance', async () => {
    const { token_id: key } = await ask<{ token_id: string }>('POST', '/key/generate', {
      max_budget: 5,
      budget_duration: 'monthly',
    });
    await visit(page, `${ui}keys?id=${key}`);
    await edit();
    await form.getByLabel('Alias', { exact: true }).fill('by the month');
    await save();
    await drawer.getByRole('heading', { name: 'by the month', exact: true }).waitFor();
    clean();
  });

  await t.test('a model of a vendor stays one', async (t) => {
    for (const model of ['anthropic/claude-sonnet-4-5', 'gpt-4o']) {
      const { model_id: id } = await ask<{ model_id: string }>('POST', '/model/new', {
        model_name: 'made',
        litellm_params: { model, api_key: 'sk-vendor' },
      });
      await visit(page, `${ui}models?id=${id}`);
      await edit();
      await form.getByLabel(/^Name/).fill('renamed');
      await save();
      await drawer.getByRole('heading', { name: 'renamed', exact: true }).waitFor();
      const { data } = await ask<{ data: readonly { model_info: { id: string } }[] }>('GET', '/model/info');
      const saved = data.find((one) => one.model_info.id === id);
      t.match(saved, { model_name: 'renamed', litellm_params: { model, api_base: undefined } });
    }
    clean();
  });

  await t.test('what an entry does not say of client headers stays unsaid until it is chosen', async (t) => {
    const FORWARDS = 'forward_client_headers_to_llm_api';
    const { model_id: id } = await ask<{ model_id: string }>('POST', '/model/new', {
      model_name: 'unsaid',
      litellm_params: { model: 'litellm_proxy/demo', api_base: rig.demo.url },
    });
    const said = async (): Promise<unknown> => {
      const { data } = await ask<{ data: readonly Entry[] }>('GET', '/model/info');
      return data.find((one) => one.model_info.id === id)?.litellm_params[FORWARDS];
    };
    const forwards = async (): Promise<boolean> => {
      const told = await ask<{ forwards_client_headers: boolean }>('POST', '/explain', {
        body: { model: 'unsaid', messages: [{ role: 'user', content: 'Hi' }] },
      });
      return told.forwards_client_headers;
    };
    const choose = async (value: string): Promise<void> => {
      await edit();
      await form.getByText('Advanced Options').click();
      await form.getByLabel(/^Enable Forwarding Client Headers/).selectOption(value);
      await save();
    };
    await visit(page, `${ui}models?id=${id}`);
    await edit();
    await form.getByLabel(/^Model at the gateway/).fill('demo-2');
    await save();
    t.equal(await said(), undefined);
    t.equal(await forwards(), true, 'the configuration decides');
    await choose('no');
    t.equal(await said(), false);
    t.equal(await forwards(), false);
    await choose('inherited');
    t.equal(await said(), undefined);
    t.equal(await forwards(), true);
    clean();
  });

  await t.test('headers that the form does not show neither keep it from saving nor are sent', async (t) => {
    const stored = async (name: string): Promise<unknown> => {
      const { data } = await ask<{ data: readonly (Entry & { readonly model_name: string })[] }>(
        'GET',
        '/model/info',
      );
      return data.find((one) => one.model_name === name)?.litellm_params['extra_headers'];
    };
    for (const [name, headers] of [
      ['hidden-broken', '{"x-team": 1, }'],
      ['hidden-whole', '{"x-team": "agents"}'],
    ] as const) {
      await visit(page, `${ui}models`);
      await page.getByRole('button', { name: 'Add a model', exact: true }).click();
      await form.getByLabel(/^Name/).fill(name);
      await form.getByLabel('Provider', { exact: true }).selectOption('custom');
      await form.getByLabel(/^Custom LLM extra HTTP headers/).fill(headers);
      await form.getByLabel('Provider', { exact: true }).selectOption('openai');
      await form.getByLabel(/^Model at the gateway/).fill('acme/demo');
      await form.getByLabel(/^Address/).fill(`${rig.demo.url}/compat/v1`);
      await save();
      t.equal(await stored(name), undefined, name);
    }
    clean();
  });

  await t.test('the address of a vendor that is cleared is gone', async (t) => {
    const { model_id: id } = await ask<{ model_id: string }>('POST', '/model/new', {
      model_name: 'elsewhere',
      litellm_params: {
        model: 'anthropic/claude-sonnet-4-5',
        api_base: `${rig.url}/a`,
        api_key: 'sk-vendor',
      },
    });
    await visit(page, `${ui}models?id=${id}`);
    await edit();
    await form.getByLabel(/^Name/).fill('at home');
    await form.getByLabel(/^Address/).fill('');
    await save();
    await drawer.getByRole('heading', { name: 'at home', exact: true }).waitFor();
    const { data } = await ask<{ data: readonly { model_info: { id: string } }[] }>('GET', '/model/info');
    const saved = data.find((one) => one.model_info.id === id);
    t.match(saved, { model_name: 'at home', litellm_params: { api_base: undefined } });
    clean();
  });

  await t.test('closing a model ends the call that was tried there', async (t) => {
    await visit(page, `${ui}models?q=stalls`);
    await page.locator('[data-row]').getByText('stalls', { exact: true }).click();
    await drawer.getByRole('button', { name: 'Send', exact: true }).click();
    await drawer.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await drawer.getByText(/^first word after/).waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    const ended = async (): Promise<string> => {
      const { text } = await send(rig.url, 'GET', '/spend/rows?limit=1&model_group=stalls');
      return (JSON.parse(text) as { rows: readonly { end_reason: string }[] }).rows[0]?.end_reason ?? '';
    };
    t.equal(await becomes(ended, 'client_gone'), 'client_gone');
    clean();
  });

  await t.test('why a step failed is said above the window in which it was made', async () => {
    await ask('POST', '/team/member_add', { team_id: 'red', member: { user_id: 'ada', role: 'user' } });
    await visit(page, `${ui}teams?id=red`);
    await page.route('**/team/member_update', (route) =>
      route.fulfill({ status: 400, json: { error: { message: 'Not now.' } } }),
    );
    await drawer.getByRole('button', { name: 'Make admin', exact: true }).click();
    const said = page.locator('.toast', { hasText: 'Not now.' });
    await said.getByRole('button', { name: 'Close', exact: true }).click();
    await said.waitFor({ state: 'detached' });
    await page.unroute('**/team/member_update');
    clean();
  });
});
