// Findings of `GET /chain` that come from the last day: alerts and their receivers, the runaway brake, the other servers, the last
// comparison of ledgers. Pure.
import type { AlertDelivery, RaisedAlert } from '../../access/alerts/raised-alert.ts';
import type { KnownServers } from '../../active-config/known-servers.ts';
import type { HistoryEntry } from '../../items/history.ts';
import { dollarText, picoOfDollarText, roundedDollars } from '../../spend/record/dollars.ts';
import { count, type ChainFinding } from './chain-findings.ts';
import type { ChainNews } from './chain-news.ts';

type Server = ReturnType<KnownServers['all']>[number];

/** Three signs of life: one may be late, two are no accident. */
const SILENT_MS = 35_000;
/** A server that was taken away without a word is no trouble for ever. */
const GONE_MS = 900_000;
/** An alert that says that calls are refused needs somebody for so long; later it is told, no more. */
const RECENT_MS = 3_600_000;
/** A receiver that is restarted takes its alerts within this. */
const LATE_MS = 60_000;
const MOST_NAMED = 2;

/** Servers that anybody would still count. */
export const presentServers = (servers: readonly Server[], nowMs: number): readonly Server[] =>
  servers.filter(({ seenMs }) => nowMs - seenMs < GONE_MS);

export const isSilent = ({ seenMs }: Server, nowMs: number): boolean => nowMs - seenMs >= SILENT_MS;

/** Of the last day, up to as many as are read. */
export function alertCounts({ alerts, undelivered }: ChainNews): {
  readonly raised: number;
  readonly open: number;
  readonly failed: number;
  readonly pending: number;
} {
  const failed = undelivered.filter(({ state }) => state === 'failed').length;
  const open = alerts.filter(({ isSeen }) => !isSeen).length;
  return { raised: alerts.length, open, failed, pending: undelivered.length - failed };
}

export function newsFindings(
  news: ChainNews,
  servers: readonly Server[],
  nowMs: number,
): readonly ChainFinding[] {
  return [
    ...deliveryFindings(news, nowMs),
    ...brakeFindings(news),
    ...serverFindings(servers, nowMs),
    ...reconcileFindings(news),
    ...alertFindings(news, nowMs),
  ];
}

function deliveryFindings({ undelivered }: ChainNews, nowMs: number): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  const byChannel = Map.groupBy(
    undelivered.flatMap((alert) => alert.value.deliveries.map((delivery) => ({ alert, delivery }))),
    ({ delivery }) => delivery.channel,
  );
  for (const [channel, all] of byChannel) {
    const failed = all.filter(({ delivery }) => delivery.state === 'failed');
    const late = all.filter(({ alert, delivery }) => isLate(alert, delivery, nowMs));
    const [first = late[0]] = failed;
    if (first === undefined) continue;
    const why = first.delivery.reason ?? 'it did not answer';
    const text =
      failed.length > 0
        ? `${count(failed.length, 'alert was', 'alerts were')} given up: ${channel} did not take ${failed.length === 1 ? 'it' : 'them'} (${why}).`
        : `${count(late.length, 'alert waits', 'alerts wait')} for ${channel}, which does not take ${late.length === 1 ? 'it' : 'them'} (${why}).`;
    found.push({
      level: 'warning', // calls go on
      text,
      mend: 'Read them here, and mend the receiver: its address stands in `alerts`, or in SLACK_WEBHOOK_URL or WEBHOOK_URL.',
      link: `system?tab=alerts&state=${failed.length > 0 ? 'failed' : 'pending'}`,
    });
  }
  return found;
}

const isLate = (
  { atMs }: HistoryEntry<RaisedAlert>,
  { state, reason }: AlertDelivery,
  nowMs: number,
): boolean => state === 'pending' && reason !== null && nowMs - atMs > LATE_MS;

function brakeFindings({ braked: { stopped, noticed } }: ChainNews): readonly ChainFinding[] {
  if (stopped + noticed === 0) return [];
  const link = 'sessions';
  if (stopped === 0)
    return [
      {
        level: 'info',
        text: `The runaway brake has noticed ${count(noticed, 'conversation that goes', 'conversations that go')} in circles.`,
        mend: 'Look whether the work makes progress; nothing is stopped.',
        link,
      },
    ];
  return [
    {
      level: 'warning',
      text: `The runaway brake holds ${count(stopped, 'conversation', 'conversations')} stopped.`,
      mend: 'Look at what repeats; then let it go on, or leave it stopped.',
      link,
    },
  ];
}

function serverFindings(servers: readonly Server[], nowMs: number): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  const silent = servers.filter((one) => isSilent(one, nowMs));
  for (const { name, seenMs } of silent.slice(0, MOST_NAMED))
    found.push({
      level: 'warning',
      text: `The server ${name} has not been heard of since ${new Date(seenMs).toISOString().slice(0, 19)}Z.`,
      mend: 'See whether it runs and reaches what the servers share. It leaves the list 15 minutes after it was last heard of.',
      link: 'system',
    });
  const byVersion = Map.groupBy(
    servers.filter((one) => !isSilent(one, nowMs)),
    ({ version }) => version ?? 'an older one',
  );
  if (byVersion.size > 1) {
    const each = Array.from(byVersion, ([version, some]) => `${version} on ${namesOf(some)}`);
    found.push({
      level: 'warning',
      text: `Servers that share a store run different versions: ${each.join('; ')}.`,
      mend: 'During a rollout this passes. Else bring all to one version.',
      link: 'system',
    });
  }
  return found;
}

function namesOf(servers: readonly Server[]): string {
  const names = servers.slice(0, MOST_NAMED).map(({ name }) => name);
  const left = servers.length - names.length;
  return left === 0 ? names.join(', ') : `${names.join(', ')} and ${left} more`;
}

const CENT_PICO = 10_000_000_000n;

/** Less than a cent is not "0.00". */
function apartText(pico: bigint): string {
  const isSmall = pico > -CENT_PICO && pico < CENT_PICO;
  return isSmall ? dollarText(pico) : roundedDollars(pico, 2);
}

function reconcileFindings({ reconciled }: ChainNews): readonly ChainFinding[] {
  if (reconciled === null || reconciled.value.agrees) return [];
  const { there, differences_total: calls, total, start_date, end_date } = reconciled.value;
  const apart = apartText(picoOfDollarText(total.difference));
  return [
    {
      level: 'warning',
      text: `The ledger of ${there} differs from this one in ${count(calls, 'call', 'calls')} of ${start_date} to ${end_date}: ${apart} USD in all.`,
      mend: 'The calls that differ stand below the spend; another comparison replaces this finding.',
      link: 'spend',
    },
  ];
}

/** Open ones come first. The brake's stand among its own findings, for as long as they last. */
function alertFindings({ alerts }: ChainNews, nowMs: number): readonly ChainFinding[] {
  const told = alerts.filter(({ value }) => value.kind !== 'brake');
  const named = told.slice(0, MOST_NAMED).map(({ id, atMs, value, isSeen }): ChainFinding => ({
    level: value.level === 'error' && !isSeen && nowMs - atMs < RECENT_MS ? 'warning' : 'info',
    text: isSeen ? `${value.text} Acknowledged by ${value.acknowledged?.by ?? 'somebody'}.` : value.text,
    mend: MENDS[value.kind],
    link: `system?tab=alerts&id=${encodeURIComponent(id)}`,
  }));
  if (told.length <= MOST_NAMED) return named;
  return [
    ...named,
    {
      level: 'info',
      text: `${told.length - MOST_NAMED} more alerts were raised in the last 24 hours.`,
      mend: 'The list shows each, and whether it was delivered.',
      link: 'system?tab=alerts',
    },
  ];
}

const MENDS: Readonly<Record<RaisedAlert['kind'], string>> = {
  soft_budget: 'See what it is spent on; raise the budget in time, or let it end.',
  budget_used_up: 'Raise the budget, or wait until it begins anew.',
  brake: 'Look at what repeats; then let it go on, or leave it stopped.',
  key_expiring: 'Regenerate the key, or tell its owner to.',
  spend_anomaly: 'See which calls cost so much; block the key if nobody knows them.',
};
