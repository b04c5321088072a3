// `throughline spend`: reports, rows, checks, comparisons and new prices of spend, read from a store or from a running proxy. Which
// of them is asked for; each has a file of its own.
import { spendExport } from './spend-export.ts';
import { spendReconcile } from './spend-reconcile.ts';
import { spendReprice } from './spend-reprice.ts';
import { spendReportCommand } from './spend-report.ts';
import { spendVerify } from './spend-verify.ts';
import { UsageError, type Command, type Terminal } from './terminal.ts';

const USAGE = `throughline spend report --by WORD [--since DAY] [--until DAY] [--format table|csv|json|parquet] [--limit N]
throughline spend export [--since DAY] [--until DAY] [--format csv|jsonl|parquet]
throughline spend verify [--since DAY] [--until DAY]
throughline spend reconcile (--url U --key K | --csv FILE) [--since DAY] [--until DAY] [--tolerance T]
throughline spend reprice --config FILE [--since DAY] [--until DAY] [--apply]

  report            sums by session, user, team, tag, model, key, day, end-user, model-group or provider
  export            the rows themselves, oldest first
  verify            every settled call of the journal is one row, and the daily sums are those of the rows;
                    exit code 1 when not
  reconcile         compares with the ledger of a LiteLLM gateway: differences in tokens and cost, rows only here, rows
                    only there, by model, day, tag and session; exit code 1 when a call differs by more than the tolerance
  reprice           what rows cost by the prices that the configuration states now; --apply changes them and their sums

What is read, at the moment of asking; a running proxy does not mind. Rows of the last second may not be there yet.
  --data-dir DIR    the SQLite file of this data directory; default ./data (or THROUGHLINE_DATA_DIR)
  --database-url U  the PostgreSQL at this URL (or DATABASE_URL)
  --config FILE     the database that this configuration names
  --url U --key K   report: the running proxy at this URL; the key is its master key (or PROXY_MASTER_KEY)

Days are UTC: YYYY-MM-DD, or YYYY-MM for a whole month. --until is included. Default: this month. verify: everything.
  --out FILE        write to a file; parquet always needs one
  --format F        csv and parquet hold exact decimals; json and jsonl hold them as texts

reconcile
  --upstream K      litellm, the default and the only kind so far
  --url U --key K   the gateway's root and an administrator's key of it (or UPSTREAM_KEY): its /spend/logs/v2 is read
  --csv FILE        instead: its table "LiteLLM_SpendLogs" as CSV with header
  --api-base B      only what was sent to this api_base; without it whatever went upstream
  --key-hash H      only the gateway's rows of this key (SHA-256, its column api_key): other callers use the gateway too
  --tolerance T     how far two costs of one call may be apart: dollars (default 0.000000001), or a part such as 0.5%
  --format F        table or json
`;

const PARTS: Readonly<Record<string, Command['run']>> = {
  report: spendReportCommand,
  export: spendExport,
  verify: spendVerify,
  reconcile: spendReconcile,
  reprice: spendReprice,
};

export const spend: Command = {
  name: 'spend',
  summary: 'report, export, verify, reconcile and reprice spend',
  usage: USAGE,
  run: async (args: readonly string[], terminal: Terminal) => {
    const [part = '', ...rest] = args;
    const run = Object.hasOwn(PARTS, part) ? PARTS[part] : undefined;
    if (run === undefined) {
      const what = part === '' ? 'nothing is asked for' : `there is no spend ${part}`;
      throw new UsageError(`${what} - one of ${Object.keys(PARTS).join(', ')}; see throughline spend --help`);
    }
    return run(rest, terminal);
  },
};
