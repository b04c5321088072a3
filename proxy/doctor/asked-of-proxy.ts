// What the running proxy itself sees of its gateways: its `GET /doctor`, for a doctor that has its URL and no configuration.
import { recordOf, objectOf } from './ask.ts';
import { CODES, type Code } from './codes.ts';
import { AREAS, type Finding, type Outcome } from './finding.ts';
import type { ProxyClient } from './running-proxy.ts';

/** As long as a run may take there. */
const RUN_MS = 120_000;
const REPORT_BYTES = 8 * 1024 * 1024;

/** @returns its outcomes, or why there are none */
export async function askedOfProxy(client: ProxyClient): Promise<readonly Outcome[] | string> {
  const asked = await client.get('/doctor', RUN_MS, REPORT_BYTES);
  if (!asked.ok) return `GET /doctor: ${asked.error.message || asked.error.name}`;
  if (asked.reply.status !== 200)
    return `GET /doctor answered ${asked.reply.status}; it needs the master key, on the admin port where there is one`;
  const report = objectOf(asked.reply.text);
  if (report['schema'] !== 'throughline-doctor/1') return 'GET /doctor has another version';
  return ['passed', 'skipped', 'findings'].flatMap((list) => outcomesIn(report[list], list));
}

function outcomesIn(list: unknown, kind: string): Outcome[] {
  if (!Array.isArray(list)) return [];
  return list.map(recordOf).flatMap((one): Outcome[] => {
    const area = AREAS.find((name) => name === one['area']);
    if (area === undefined || area === 'proxy') return [];
    const base = { area, check: textOf(one['check']), subject: textOf(one['subject']) };
    if (kind === 'passed') return [{ ...base, status: 'passed', seen: textOf(one['seen']) }];
    if (kind === 'skipped') return [{ ...base, status: 'skipped', because: textOf(one['because']) }];
    const finding = findingOf(one);
    return finding === null ? [] : [{ ...base, status: 'found', finding }];
  });
}

function findingOf(one: Readonly<Record<string, unknown>>): Finding | null {
  const code = (Object.keys(CODES) as Code[]).find((name) => name === one['code']);
  if (code === undefined) return null;
  const { level, hop, meaning } = CODES[code];
  const place = one['place'];
  return {
    code,
    level: (['error', 'warning', 'info'] as const).find((name) => name === one['level']) ?? level,
    hop,
    subject: textOf(one['subject']),
    place: typeof place === 'string' ? place : null,
    seen: textOf(one['seen']),
    meaning,
    fix: textOf(one['fix']),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
