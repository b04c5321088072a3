// `throughline spend reprice`: what rows cost by the prices of a configuration as it stands now. Shows the difference;
// changes rows only with `--apply`.
import { resolve } from 'node:path';
import { Catalogue } from '../../config/catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { ConfigRefused } from '../errors/cannot-start.ts';
import type { PriceSources } from '../spend/record/cost.ts';
import { roundedDollars } from '../spend/record/dollars.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { reprice } from '../spend/record/reprice.ts';
import { grouped, textTable } from '../spend/report/text-table.ts';
import { storeBackend } from '../spend/store/backends.ts';
import { RECOST_ROWS, type CostWriter, type Recosted } from '../spend/store/cost-writer.ts';
import {
  daysBetween,
  periodOf,
  placeOf,
  withReader,
  DAY_FLAGS,
  STORE_FLAGS,
  type StoreFlags,
} from './spend-source.ts';
import { configPathOf, CONFIG_FLAG, type Terminal, type Define } from './terminal.ts';

const PLACES = 6;

interface Flags extends StoreFlags {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly apply?: true | undefined;
}

export const spendReprice: Define = (command, terminal) => {
  command
    .summary('what rows cost by the prices that the configuration states now')
    .description(
      'Compares the costs of rows with what they are by the prices of the configuration as it stands now.',
    )
    .option(...CONFIG_FLAG)
    .option('--apply', 'change the rows and their daily sums')
    .option(...DAY_FLAGS.since)
    .option(...DAY_FLAGS.until)
    .option(
      STORE_FLAGS.dataDir[0],
      `${STORE_FLAGS.dataDir[1]}, where neither the configuration nor the environment names a database`,
    )
    .option(...STORE_FLAGS.databaseUrl)
    .action((flags) => printCosts(flags, terminal));
};

async function printCosts(values: Flags, terminal: Terminal): Promise<void> {
  const isApplied = values.apply === true;
  const config = configPathOf(values.config, terminal);
  const loaded = loadConfig(resolve(terminal.cwd, config), terminal.env);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  const days = daysBetween(values.since, values.until, Date.now());
  const flags = { ...values, config: values.databaseUrl === undefined ? config : undefined };
  const prices = new PriceTables(loaded.snapshot);
  const sums = new Map<string, ModelSum>();
  let stayed = 0;
  await withReader(flags, terminal, async (reader) => {
    const writer = isApplied ? await storeBackend(placeOf(flags, terminal)).openCostWriter() : null;
    try {
      stayed = await repriceAll(reader.rows(periodOf(days)), prices, sums, writer);
    } finally {
      await writer?.close();
    }
    terminal.out(`Costs of ${days.startDay} to ${days.endDay} (UTC) in ${reader.shown} by ${config}\n\n`);
  });
  terminal.out(textOf(sums, isApplied));
  if (stayed > 0)
    terminal.out(
      `${grouped(stayed)} of the changed rows had been removed or priced anew meanwhile, and stay - run it again\n`,
    );
  if (prices.unknown > 0)
    terminal.out(
      `${grouped(prices.unknown)} rows stay as they are: their deployment is not in this configuration\n`,
    );
}

interface ModelSum {
  rows: number;
  /** Rows that differ: they would be changed, or were, but for those that somebody else has changed meanwhile. */
  changed: number;
  beforePico: bigint;
  afterPico: bigint;
}

/** @returns how many rows were to be changed and stay, since they are no longer as they were read */
async function repriceAll(
  rows: AsyncIterable<SpendRecord>,
  prices: PriceTables,
  sums: Map<string, ModelSum>,
  writer: CostWriter | null,
): Promise<number> {
  let batch: Recosted[] = [];
  let stayed = 0;
  const write = async (): Promise<void> => {
    if (writer !== null) stayed += batch.length - (await writer.write(batch));
    batch = [];
  };
  for await (const before of rows) {
    const sources = prices.of(before);
    const after = sources === null ? before : reprice(before, sources);
    const isSame = costText(before) === costText(after);
    count(sums, before, after, !isSame);
    if (isSame) continue;
    batch.push({ before, after });
    if (batch.length === RECOST_ROWS) await write();
  }
  await write();
  return stayed;
}

function count(
  sums: Map<string, ModelSum>,
  before: SpendRecord,
  after: SpendRecord,
  isChanged: boolean,
): void {
  const sum = sums.get(before.model) ?? { rows: 0, changed: 0, beforePico: 0n, afterPico: 0n };
  sums.set(before.model, sum);
  sum.rows += 1;
  sum.changed += isChanged ? 1 : 0;
  sum.beforePico += BigInt(before.spendPico ?? 0);
  sum.afterPico += BigInt(after.spendPico ?? 0);
}

function costText({ spendPico, costSource, costReason, costs, priceVersion }: SpendRecord): string {
  const known = Object.entries(costs).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([spendPico, costSource, costReason, known, priceVersion]);
}

/** Prices of the deployment that served a row, as the configuration has them now. */
class PriceTables {
  readonly #deployments: ReadonlyMap<string, Deployment>;
  readonly #catalogue = new Catalogue();
  /** Rows of deployments that are not in the configuration. */
  unknown = 0;

  constructor(snapshot: Snapshot) {
    this.#deployments = new Map(snapshot.deployments.map((deployment) => [deployment.id, deployment]));
  }

  of({ modelId, model }: SpendRecord): PriceSources | null {
    if (modelId === null) return null; // refused: it was sent nowhere
    const deployment = this.#deployments.get(modelId);
    if (deployment === undefined) {
      this.unknown += 1;
      return null;
    }
    return this.#catalogue.pricesOf(deployment, model);
  }
}

function textOf(sums: ReadonlyMap<string, ModelSum>, isApplied: boolean): string {
  const header = ['model', 'rows', isApplied ? 'changed' : 'would change', 'before', 'after', 'difference'];
  const cells = (name: string, { rows, changed, beforePico, afterPico }: ModelSum): string[] => [
    name,
    grouped(rows),
    grouped(changed),
    roundedDollars(beforePico, PLACES),
    roundedDollars(afterPico, PLACES),
    roundedDollars(afterPico - beforePico, PLACES),
  ];
  const whole = { rows: 0, changed: 0, beforePico: 0n, afterPico: 0n };
  for (const sum of sums.values()) {
    whole.rows += sum.rows;
    whole.changed += sum.changed;
    whole.beforePico += sum.beforePico;
    whole.afterPico += sum.afterPico;
  }
  const lines = [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, sum]) => cells(name || '(none)', sum));
  const table = textTable(
    [header, ...lines, cells('all', whole)],
    header.map((_, i) => i > 0),
    true,
  );
  return isApplied || whole.changed === 0
    ? table
    : `${table}\nnothing was changed; --apply changes the rows and their daily sums\n`;
}
