// A proxy under load whose rows are compared with what its gateway saw; used by all faults of disks, databases and
// clocks. It knows no fault itself.
import { Agent } from 'node:http';
import { sendLoadCall, type CallEnd } from '../../support/load-call.ts';
import { send } from '../../support/rig.ts';
import { compareRows, rowsOf } from './compare-rows.ts';
import { DEADLINE_MS } from './scenario-run.ts';
import type { ProxySetup, Served } from './proxy-setup.ts';
import type { ResultRow } from './result-row.ts';

const MODELS = ['demo', 'demo-interval', 'demo-slow', 'compat', 'demo-500'];

/** A proxy under load whose rows are compared at the end. */
export class LoadCheck {
  readonly setup: ProxySetup;
  readonly result: ResultRow;
  readonly dataDir: string;
  readonly #calls: number;
  readonly #whole = new Set<string>();
  readonly #random: () => number;
  #sent = 0;

  constructor(setup: ProxySetup, result: ResultRow, dataDir: string, calls: number, random: () => number) {
    [this.setup, this.result, this.dataDir] = [setup, result, dataDir];
    this.#calls = calls;
    this.#random = random;
  }

  /** One load. Each call must be served, unless `allowed` names other ends; `demo-500` is refused by the gateway. */
  async load(proxy: Served, allowed: readonly CallEnd[] = []): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 40 });
    await Promise.all(
      Array.from({ length: this.#calls }, async () => {
        this.#sent += 1;
        const session = `call-${this.#sent}`;
        const model = MODELS[Math.floor(this.#random() * MODELS.length)] as string;
        const stream = this.#random() < 0.5;
        const end = await sendLoadCall({ agent, port: proxy.port, session, model, stream });
        if (end === 'whole') this.#whole.add(session);
        const isServed = end === (model === 'demo-500' ? 'refused' : 'whole');
        this.result.check(isServed || allowed.includes(end), () => `${session} to ${model} was ${end}`);
      }),
    );
    agent.destroy();
  }

  /**
   * Loads until the program has said `pattern`. How many writes a load makes depends on how many calls fall into one turn,
   * so a fault at the twentieth write may need a second load.
   */
  async loadUntilSaid(proxy: Served, pattern: RegExp, allowed: readonly CallEnd[]): Promise<void> {
    const saying = proxy.said(pattern);
    let isOver = false;
    const over = (): void => void (isOver = true);
    saying.then(over, over);
    for (let round = 0; round < 20 && !isOver; round += 1) await this.load(proxy, allowed);
    await saying;
  }

  /** A demand on the program beside its answers. */
  demand(holds: boolean, problem: string): void {
    this.result.check(holds, () => problem);
  }

  /** Calls until one is refused for want of a journal, which must come. */
  async refuses(proxy: Served, when: string): Promise<void> {
    for (let n = 0; n < 500; n += 1) {
      const { status, text } = await send(proxy.url, 'POST', '/v1/chat/completions', {
        model: 'demo',
        messages: [],
      });
      if (status === 200) continue; // what is left of the last page
      return this.demand(status === 503 && text.includes('journal_unwritable'), `${when}: ${status} ${text}`);
    }
    this.demand(false, `${when}: calls were served without a record`);
  }

  /** Waits until `path` answers with `status`; a probe of an orchestrator would do the same. */
  async until(proxy: Served, path: string, status: number): Promise<void> {
    const endsAt = performance.now() + DEADLINE_MS;
    while (performance.now() < endsAt) if ((await send(proxy.url, 'GET', path)).status === status) return;
    this.demand(false, `${path} did not come to ${status} in ${DEADLINE_MS / 1000} s`);
  }

  /** Compares the rows, from the call `since` on. */
  async close(proxy: Served, since = 0): Promise<void> {
    const named = this.setup.seen.filter((session) => session.startsWith('call-'));
    const seen = named.filter((session) => Number(session.slice(5)) > since);
    const whole = new Set([...this.#whole].filter((session) => Number(session.slice(5)) > since));
    await this.until(proxy, '/health/readiness', 200); // rows that waited in memory are written by then
    await this.until(proxy, '/spend/logs', 200);
    const rows = (await rowsOf(proxy.url)).filter((row) => String(row['session_id']).startsWith('call-'));
    compareRows(this.result, rows, { seen, whole });
  }

  /** Calls so far; their sessions are `call-1` and so on. */
  get sent(): number {
    return this.#sent;
  }
}
