// `GET /spend/rows/live`: rows as they come, from where a listener was; who sees what; how it ends.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import t from 'tap';
import { managed, newKey } from '../../support/manage.ts';
import { PageClient } from '../../support/page-client.ts';
import { chat, defaultConfig, KEY, send, startRig } from '../../support/rig.ts';

interface Event {
  readonly name: string;
  readonly id: string;
  readonly data: {
    readonly rows?: readonly { readonly request_id: string; readonly session_id: string }[];
    readonly whose?: string;
    readonly missed?: boolean;
    readonly code?: string;
  };
}

/** A stream of events as it comes. */
class Live {
  readonly res: IncomingMessage;
  readonly events: Event[] = [];
  #rest = '';
  #isOver = false;

  constructor(res: IncomingMessage) {
    this.res = res;
    res.setEncoding('utf8');
    res.on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n\n');
      this.#rest = parts.pop() ?? '';
      for (const part of parts) {
        const of = (name: string): string =>
          part
            .split('\n')
            .find((line) => line.startsWith(`${name}: `))
            ?.slice(name.length + 2) ?? '';
        if (of('data') !== '')
          this.events.push({
            name: of('event'),
            id: of('id'),
            data: JSON.parse(of('data')) as Event['data'],
          });
      }
    });
    res.on('close', () => (this.#isOver = true));
  }

  static async open(
    url: string,
    query = '',
    headers: Readonly<Record<string, string>> = { authorization: `Bearer ${KEY}` },
  ): Promise<Live> {
    const req = httpRequest(`${url}/spend/rows/live${query}`, { headers, agent: false });
    req.on('error', () => undefined);
    req.end();
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    return new Live(res);
  }

  /** The first event that fits, past or to come. */
  async event(fits: (event: Event) => boolean): Promise<Event> {
    for (;;) {
      const found = this.events.find(fits);
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`it ended: ${JSON.stringify(this.events)}`);
      await Promise.race([once(this.res, 'data'), once(this.res, 'close')]);
    }
  }

  async started(): Promise<this> {
    await this.event(({ name }) => name === 'start');
    return this;
  }

  row(sessionId: string): Promise<Event> {
    return this.event(({ data }) => data.rows?.some((row) => row.session_id === sessionId) === true);
  }

  get sessions(): readonly string[] {
    return this.events.flatMap(({ data }) => data.rows ?? []).map((row) => row.session_id);
  }

  async over(): Promise<void> {
    if (!this.#isOver) await once(this.res, 'close');
  }

  leave(): void {
    this.res.destroy();
  }
}

const session = (id: string): Record<string, string> => ({ 'x-litellm-session-id': id });

t.test('rows as they come', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo) });
  const call = (id: string, more: Record<string, string> = {}) =>
    chat(rig, 'demo', {}, { ...session(id), ...more });
  const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

  await call('before');
  await send(rig.url, 'GET', '/spend/rows'); // it is in the store
  let last = '';

  await t.test('what comes after the start, each row once, in the order of arrival', async (t) => {
    const live = await Live.open(rig.url);
    t.equal(live.res.statusCode, 200);
    t.match(live.res.headers, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    t.same((await live.event(({ name }) => name === 'start')).data, { whose: 'all', missed: false });
    await call('one');
    await live.row('one');
    await call('two');
    last = (await live.row('two')).id;
    t.same(live.sessions, ['one', 'two'], 'none of before');
    live.leave();
  });

  await t.test('who comes back goes on from there, also at a long call that began before', async (t) => {
    const demo = rig.demo;
    const slow = chat(rig, 'demo-hold', {}, session('long'));
    while (demo.seen.at(-1)?.body.includes('hold') !== true) await new Promise(setImmediate);
    await call('three');
    await call('four');
    const live = await Live.open(rig.url, '', { ...bearer(KEY), 'last-event-id': last });
    await live.row('four');
    t.same(live.sessions.toSorted(), ['four', 'three']);
    demo.release();
    await slow;
    await live.row('long');
    live.leave();
    const lost = await Live.open(rig.url, '', { ...bearer(KEY), 'last-event-id': 'nonsense' });
    t.same((await lost.event(({ name }) => name === 'start')).data, { whose: 'all', missed: true });
    lost.leave();
  });

  await t.test('filters are those of /spend/rows', async (t) => {
    const filtered = await (await Live.open(rig.url, '?session_id=mine&status=success')).started();
    const tagged = await (await Live.open(rig.url, '?tag=red')).started();
    await call('other');
    await call('tagged', { 'x-litellm-tags': 'red,blue' });
    await call('mine');
    await Promise.all([filtered.row('mine'), tagged.row('tagged')]);
    t.same(filtered.sessions, ['mine']);
    t.same(tagged.sessions, ['tagged']);
    filtered.leave();
    tagged.leave();
    const wrong = await send(rig.url, 'GET', '/spend/rows/live?status=so-so');
    t.equal(wrong.status, 400);
    t.match(wrong.text, 'must be success or failure');
  });

  await t.test('a key sees its own, and no longer than it holds', async (t) => {
    const key = await newKey(rig, {});
    const live = await (await Live.open(rig.url, '', bearer(key))).started();
    t.equal(live.events[0]?.data.whose, 'own');
    await call('of-the-master');
    await call('of-the-key', bearer(key));
    await live.row('of-the-key');
    t.same(live.sessions, ['of-the-key']);
    await managed(rig, 'POST /key/block', { key });
    t.match((await live.event(({ name }) => name === 'end')).data, { code: 'key_blocked' });
    await live.over();
  });

  await t.test('it ends with the session of the console', async (t) => {
    const page = new PageClient(rig.url);
    await page.signIn(KEY);
    const live = await Live.open(rig.url, '', { cookie: page.cookie, 'sec-fetch-site': 'same-origin' });
    await live.started();
    await page.call('DELETE', '/ui/session');
    t.match((await live.event(({ name }) => name === 'end')).data, { code: 'session_expired' });
    await live.over();
    const again = await Live.open(rig.url, '', { cookie: page.cookie, 'sec-fetch-site': 'same-origin' });
    t.equal(again.res.statusCode, 401);
    again.leave();
  });

  await t.test('so many listeners, and no more', async (t) => {
    const all = await Promise.all(Array.from({ length: 32 }, () => Live.open(rig.url)));
    t.ok(all.every(({ res }) => res.statusCode === 200));
    const refused = await send(rig.url, 'GET', '/spend/rows/live');
    t.match(refused, { status: 503, headers: { 'retry-after': '30' } });
    t.match(refused.text, 'too_many_listeners');
    all.forEach((live) => live.leave());
    for (;;) {
      const next = await Live.open(rig.url);
      next.leave();
      if (next.res.statusCode === 200) break; // their places are free
    }
  });

  await t.test('another configuration, and a stop, send it elsewhere', async (t) => {
    const live = await (await Live.open(rig.url)).started();
    await rig.reconfigure(defaultConfig(rig.demo, '  console: { session_hours: 2 }\n'));
    await live.over();
    t.equal(live.res.complete, true, 'in order');
    const last = await (await Live.open(rig.url)).started();
    await rig.stop();
    await last.over();
  });
});
