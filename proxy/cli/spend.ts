// `throughline spend`: reports, rows, checks, comparisons and new prices of spend, read from a store or from a running
// proxy. Each of its subcommands has a file of its own.
import { spendBudgets } from './spend-budgets.ts';
import { spendExport } from './spend-export.ts';
import { spendReconcile } from './spend-reconcile.ts';
import { spendReprice } from './spend-reprice.ts';
import { spendReport } from './spend-report.ts';
import { spendVerify } from './spend-verify.ts';
import type { Define } from './terminal.ts';

export const spend: Define = (command, terminal) => {
  command
    .helpCommand(false)
    .description(
      'What calls cost, read from the store while the proxy runs or not. Rows of the last second may not be there yet.',
    );
  spendReport(command.command('report'), terminal);
  spendExport(command.command('export'), terminal);
  spendBudgets(command.command('budgets'), terminal);
  spendVerify(command.command('verify'), terminal);
  spendReconcile(command.command('reconcile'), terminal);
  spendReprice(command.command('reprice'), terminal);
};
