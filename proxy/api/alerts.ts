// `GET /alerts`: the alerts of the last months and what became of each, the newest first, each page beginning where the last one
// ended.
import { ALERT_STATES, type RaisedAlert } from '../access/alerts/alert-history.ts';
import type { HistoryEntry } from '../items/history.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { historyPage, sendTagged } from './history-page.ts';
import { wrong } from './spend-query.ts';

export async function listAlerts(x: Exchange): Promise<void> {
  const { services, snapshot } = x.active;
  const query = new URLSearchParams(x.query);
  const state = query.get('state') ?? '';
  if (state !== '' && !ALERT_STATES.some((one) => one === state))
    throw wrong('state', `must be one of ${ALERT_STATES.join(', ')}`);
  const states = state === '' ? [] : [state];
  const { entries, next } = await historyPage(services.alertHistory, query, states, services.clock.now());
  sendTagged(x, {
    alerts: entries.map(alertRow),
    next,
    channels: snapshot.alerts.channels.map(({ name, kinds }) => ({ name, kinds: [...kinds] })),
  });
}

function alertRow({ id, atMs, state, value }: HistoryEntry<RaisedAlert>): object {
  const { kind, level, subject, text, deliveries } = value;
  return {
    id,
    kind,
    level,
    at: new Date(atMs).toISOString(),
    subject,
    text,
    state,
    deliveries: deliveries.map(({ changedMs, ...one }) => ({
      ...one,
      changed_at: new Date(changedMs).toISOString(),
    })),
  };
}
