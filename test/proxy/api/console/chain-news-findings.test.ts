// What the chain says of the last day, case by case.
import t from 'tap';
import type { RaisedAlert } from '../../../../proxy/access/alerts/raised-alert.ts';
import {
  alertCounts,
  isSilent,
  newsFindings,
  presentServers,
} from '../../../../proxy/api/console/chain-news-findings.ts';
import { NO_NEWS, type ChainNews } from '../../../../proxy/api/console/chain-news.ts';
import type { HistoryEntry } from '../../../../proxy/items/history.ts';

const NOW = Date.UTC(2026, 10, 22, 12);

const alert = (id: string, minutes: number, more: Partial<RaisedAlert> = {}): HistoryEntry<RaisedAlert> => ({
  id,
  atMs: NOW - minutes * 60_000,
  state: 'pending',
  cause: id,
  isSeen: more.acknowledged !== undefined,
  value: {
    kind: 'budget_used_up',
    level: 'error',
    subject: { kind: 'team', id: 't', name: 'team t' },
    text: `Budget ${id} used up.`,
    deliveries: [],
    ...more,
  },
});

const pending = (minutes: number, reason: string | null) =>
  alert('p', minutes, {
    deliveries: [{ channel: 'chat', state: 'pending', attempts: 2, reason, changedMs: NOW }],
  });

const server = (name: string, secondsAgo: number, version: string | null = '1.0.0') => ({
  name,
  version,
  startedMs: null,
  seenMs: NOW - secondsAgo * 1_000,
  isThis: false,
  sharedBy: ['postgresql'] as const,
});

const says = (news: Partial<ChainNews>, servers: Parameters<typeof newsFindings>[1] = []) =>
  newsFindings({ ...NO_NEWS, ...news }, servers, NOW).map(({ level, text, link }) => [level, text, link]);

t.test('nothing happened', async (t) => t.same(says({}), []));

t.test('a receiver that does not take alerts is told of after a minute', async (t) => {
  t.same(says({ undelivered: [pending(0.5, 'the receiver answers 503'), pending(5, null)] }), []);
  t.same(says({ undelivered: [pending(5, 'the receiver answers 503')] }), [
    [
      'warning',
      '1 alert waits for chat, which does not take it (the receiver answers 503).',
      'system?tab=alerts&state=pending',
    ],
  ]);
});

t.test('alerts: what refuses calls needs somebody for an hour; two are named', async (t) => {
  const alerts = [alert('a', 5), alert('b', 90), alert('c', 100), alert('d', 110, { kind: 'brake' })];
  t.same(says({ alerts }), [
    ['warning', 'Budget a used up.', 'system?tab=alerts&id=a'],
    ['info', 'Budget b used up.', 'system?tab=alerts&id=b'],
    ['info', '1 more alerts were raised in the last 24 hours.', 'system?tab=alerts'],
  ]);
});

t.test('what somebody has acknowledged is told after what is open, and needs nobody', async (t) => {
  const acknowledged = { atMs: NOW, by: 'Jane', userId: 'jane', note: null };
  const alerts = [alert('open', 50), alert('seen', 5, { acknowledged })];
  t.same(says({ alerts }), [
    ['warning', 'Budget open used up.', 'system?tab=alerts&id=open'],
    ['info', 'Budget seen used up. Acknowledged by Jane.', 'system?tab=alerts&id=seen'],
  ]);
  t.same(alertCounts({ ...NO_NEWS, alerts }), { raised: 2, open: 1, failed: 0, pending: 0 });
});

t.test('the brake', async (t) => {
  t.match(says({ braked: { stopped: 2, noticed: 1 } }), [
    ['warning', 'The runaway brake holds 2 conversations stopped.', 'sessions'],
  ]);
  t.match(says({ braked: { stopped: 0, noticed: 1 } }), [['info', /has noticed 1 conversation that goes/]]);
});

t.test('servers: versions that differ, and silence', async (t) => {
  t.same(says({}, [server('a', 0), server('b', 9)]), []);
  t.same(says({}, [server('a', 0), server('b', 9, '1.1.0'), server('c', 9, null)]), [
    [
      'warning',
      'Servers that share a store run different versions: 1.0.0 on a; 1.1.0 on b; an older one on c.',
      'system',
    ],
  ]);
  const silent = server('d', 60, '1.1.0');
  t.same(says({}, [server('a', 0), silent]), [
    ['warning', 'The server d has not been heard of since 2026-11-22T11:59:00Z.', 'system'],
  ]);
  t.equal(isSilent(silent, NOW), true);
  t.same(presentServers([silent, server('e', 901)], NOW), [silent]);
});
