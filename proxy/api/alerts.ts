// `GET /alerts`: the alerts of the last months, what became of each and who has seen it: the open ones first, then those that are
// acknowledged, each with the newest first. `POST /alerts/{id}/acknowledge` says that somebody has seen one, `POST /alerts/{id}/reopen`
// takes that back.
import { acknowledge, reopen } from '../access/alerts/acknowledgements.ts';
import { ALERT_STATES, type Acknowledgement, type RaisedAlert } from '../access/alerts/raised-alert.ts';
import { callerName, type AuthenticatedCaller } from '../access/caller.ts';
import { Fault } from '../errors/fault.ts';
import type { History, HistoryEntry } from '../items/history.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { AdminAttempt } from './audit.ts';
import { historyAway, historyPage } from './history-page.ts';
import { readChange } from './json-body.ts';
import { wrong } from './spend-query.ts';
import { sendTagged } from './tagged-json.ts';

/** A sentence or two; what is longer belongs into a ticket. */
const LONGEST_NOTE = 1_000;
/** Characters of texts that a line of the log holds. */
const LOGGED = 200;
const OPEN_FIRST = [false, true];
const BY_WORD: Readonly<Record<string, readonly boolean[]>> = {
  '': OPEN_FIRST,
  false: [false],
  true: [true],
};

export async function listAlerts(x: Exchange): Promise<void> {
  const { services, snapshot } = x.active;
  const query = new URLSearchParams(x.query);
  const state = query.get('state') ?? '';
  if (state !== '' && !ALERT_STATES.some((one) => one === state))
    throw wrong('state', `must be one of ${ALERT_STATES.join(', ')}`);
  const word = query.get('acknowledged') ?? '';
  const seen = Object.hasOwn(BY_WORD, word) ? BY_WORD[word] : undefined;
  if (seen === undefined) throw wrong('acknowledged', 'must be true or false');
  const parts = seen.map((isSeen) => ({ isSeen, states: state === '' ? [] : [state] }));
  const { entries, next } = await historyPage(services.alertHistory, query, parts, services.clock.now());
  sendTagged(x, {
    alerts: entries.map(alertRow),
    next,
    channels: snapshot.alerts.channels.map(({ name, kinds }) => ({ name, kinds: [...kinds] })),
  });
}

/** `{note?}` */
export async function acknowledgeAlert(
  x: Exchange,
  attempt: AdminAttempt,
  id: string,
  caller: AuthenticatedCaller,
): Promise<void> {
  attempt.details(named(id));
  const { note = null, ...others } = await readChange(x);
  const [other] = Object.keys(others);
  if (other !== undefined) throw wrong(other.slice(0, 50), 'is not known; the one member is `note`');
  if (note !== null && (typeof note !== 'string' || note.length > LONGEST_NOTE))
    throw wrong('note', `must be text of at most ${LONGEST_NOTE} characters`);
  const said = note?.trim() ?? '';
  const acknowledged: Acknowledgement = {
    atMs: x.active.services.clock.now(),
    by: callerName(caller),
    userId: caller.userId ?? null,
    note: said === '' ? null : said,
  };
  const shown = { by: acknowledged.by.slice(0, LOGGED), note: acknowledged.note?.slice(0, LOGGED) ?? null };
  attempt.details({ ...named(id), ...shown });
  await change(x, attempt, id, (history) => acknowledge(history, id, acknowledged));
}

export async function reopenAlert(x: Exchange, attempt: AdminAttempt, id: string): Promise<void> {
  attempt.details(named(id));
  await change(x, attempt, id, (history) => reopen(history, id));
}

async function change(
  x: Exchange,
  attempt: AdminAttempt,
  id: string,
  act: (history: History<RaisedAlert>) => ReturnType<typeof reopen>,
): Promise<void> {
  const { alertHistory } = x.active.services;
  const changed = alertHistory === null ? null : await act(alertHistory).catch(away);
  if (changed === null)
    throw new Fault('alert_not_found', `There is no alert ${JSON.stringify(id.slice(0, 100))}.`);
  if (changed.isNew) attempt.applied(true);
  else attempt.changedNothing('unchanged');
  sendJson(x, alertRow(changed.entry));
}

const away = (cause: unknown): never => {
  throw historyAway(cause);
};

const named = (id: string): { readonly alert: string } => ({ alert: id.slice(0, 100) });

function alertRow({ id, atMs, state, value }: HistoryEntry<RaisedAlert>): object {
  const { kind, level, subject, text, deliveries, acknowledged = null } = value;
  return {
    id,
    kind,
    level,
    at: isoTime(atMs),
    subject,
    text,
    state,
    deliveries: deliveries.map(({ changedMs, ...one }) => ({ ...one, changed_at: isoTime(changedMs) })),
    acknowledged:
      acknowledged === null
        ? null
        : {
            at: isoTime(acknowledged.atMs),
            by: acknowledged.by,
            user_id: acknowledged.userId,
            note: acknowledged.note,
          },
  };
}

const isoTime = (ms: number): string => new Date(ms).toISOString();
