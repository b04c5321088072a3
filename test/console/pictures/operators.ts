// What operators have beside the proxy: a receiver of alerts, a store that servers share, two comparisons with a gateway's ledger.
import { join } from 'node:path';
import { openHistoryStore } from '../../../proxy/items/history.ts';
import { openReconciliations } from '../../../proxy/server/reconciliations.ts';
import { keptReconciliation } from '../../../proxy/spend/report/kept-reconciliation.ts';
import type { LedgerEntry } from '../../../proxy/spend/report/ledger-entry.ts';
import { reconcile } from '../../../proxy/spend/report/reconcile.ts';
import { receiver } from '../../support/alert-receiver.ts';
import { list, managed, newKey } from '../../support/manage.ts';
import { beforeNextLook } from '../../support/patience.ts';
import type { Rig, Row } from '../../support/rig.ts';
import { ownValkey } from '../../support/valkey.ts';

interface Teardown {
  teardown(act: () => unknown): unknown;
}

interface Operators {
  /** The section of the configuration. */
  readonly alerts: string;
  /** Settings for `router_settings`. */
  readonly router: string;
}

export async function startOperators(t: Teardown): Promise<Operators> {
  const onCall = await receiver(t);
  const valkey = await ownValkey({ ...t, comment: () => undefined });
  if (valkey === null) throw new Error('the picture of several servers needs redis-server or valkey-server');
  return {
    alerts: `alerts: { webhooks: [{ name: on-call, url: "${onCall.url}" }] }\n`,
    router: `  redis_host: 127.0.0.1\n  redis_port: ${valkey.port}\n`,
  };
}

const DAY_MS = 86_400_000;
const PICO = 1e12;

/** Keeps one that agrees, of yesterday, and one of now in which some calls differ. */
export async function reconcileTwice(rig: Rig): Promise<void> {
  const rows = (await rig.rows()).filter(({ status }) => status === 'success');
  const here = rows.map(entryOf);
  const there = here
    .slice(2)
    .map((entry, i) => (i % 16 === 0 ? { ...entry, spendPico: ((entry.spendPico ?? 0n) * 3n) / 2n } : entry));
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const nowMs = Date.now();
  const shown = {
    here: 'the store of this proxy',
    there: 'LiteLLM at https://llm-gateway.example.com',
    start_date: day(nowMs - 20 * DAY_MS),
    end_date: day(nowMs),
    tolerance: '0.000000001 USD',
  };
  const store = openHistoryStore({ dataDir: join(rig.folder, 'data'), database: null });
  const kept = openReconciliations(store);
  const keep = async (id: string, atMs: number, theirs: readonly LedgerEntry[]): Promise<void> => {
    const result = reconcile(here, theirs, { startMs: 0, endMs: nowMs }, { pico: 1000n });
    const value = keptReconciliation(result, shown, 'finance@example.com');
    await kept.put({ id, atMs }, () => ({ state: result.agrees ? 'agrees' : 'differs', value }));
  };
  await keep('rec_1', nowMs - DAY_MS, here);
  await keep('rec_2', nowMs, there);
  await store.close();
}

function entryOf(row: Row): LedgerEntry {
  const id = String(row['request_id']);
  return {
    id,
    callIds: [id],
    answerIds: [],
    startMs: Date.parse(String(row['startTime'])),
    model: String(row['model_group']),
    session: String(row['session_id']),
    tags: [],
    promptTokens: Number(row['prompt_tokens']),
    completionTokens: Number(row['completion_tokens']),
    spendPico: BigInt(Math.round(Number(row['spend']) * PICO)),
  };
}

/** An administrator has seen that a soft budget was reached. */
export async function acknowledgeOne(rig: Rig): Promise<void> {
  const key = await newKey(rig, { user_id: 'grace' });
  const note = 'The search team builds its index anew, until Friday. Its budget stays as it is.';
  for (;;) {
    const { alerts } = await managed(rig, 'GET /alerts');
    const one = list(alerts).find(({ kind }) => kind === 'soft_budget');
    if (one === undefined) await beforeNextLook();
    else {
      await managed(rig, `POST /alerts/${String(one['id'])}/acknowledge`, { note }, key);
      break;
    }
  }
  await managed(rig, 'POST /key/delete', { keys: [key] });
}
