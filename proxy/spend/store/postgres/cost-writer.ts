// Costs replaced in a PostgreSQL database, over one connection.
import type { Client } from 'pg';
import type { DatabaseSettings } from '../../../../config/database-settings.ts';
import type { CostWriter, Recosted } from '../cost-writer.ts';
import { addToSumSql, recostSql, sumChanges } from '../sql/costs.ts';
import type { SqlDialect } from '../sql/dialect.ts';
import { inTransaction, PgConnection } from './connection.ts';
import { postgresDialect } from './dialect.ts';
import { quoted } from './migrations.ts';
import { databaseData } from './settings.ts';

const STATEMENT_MS = 60_000;

export class PostgresCostWriter implements CostWriter {
  readonly #connection: PgConnection<Client>;
  readonly #dialect: SqlDialect;

  constructor(database: DatabaseSettings) {
    this.#dialect = postgresDialect(quoted(database.schema));
    this.#connection = new PgConnection({
      database: databaseData(database),
      timeoutMs: STATEMENT_MS,
      prepare: async (client) => client,
    });
  }

  write(batch: readonly Recosted[]): Promise<number> {
    return this.#connection.use((client) =>
      inTransaction(client, async () => {
        const changed: Recosted[] = [];
        for (const one of batch) {
          const { text, values } = recostSql(one.before, one.after, this.#dialect);
          if ((await client.query(text, values)).rowCount === 1) changed.push(one);
        }
        for (const change of sumChanges(changed)) {
          const { text, values } = addToSumSql(change, this.#dialect);
          await client.query(text, values);
        }
        return changed.length;
      }),
    );
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
