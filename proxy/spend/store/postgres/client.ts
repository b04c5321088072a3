// A client of the driver that is connected, in the encryption that the settings ask for.
import { Client } from 'pg';
import { asError } from '../../../base/as-error.ts';
import { clientConfig, type DatabaseData } from './settings.ts';

const INT8 = 20; // https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat

/** @param timeoutMs longest time of one statement */
export async function openClient(
  database: DatabaseData,
  timeoutMs: number,
  encrypted = database.tls !== 'disable',
): Promise<Client> {
  const client = new Client(clientConfig(database, encrypted, timeoutMs));
  client.on('error', () => undefined); // reported by the rejection of the running query, or by the next use
  client.setTypeParser(INT8, Number); // all our bigints are below 2^53
  try {
    await client.connect();
    return client;
  } catch (error) {
    await endClient(client);
    const plain = asError(error).message === 'The server does not support SSL connections';
    if (plain && encrypted && database.tls === 'prefer') return openClient(database, timeoutMs, false);
    throw error;
  }
}

export async function endClient(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}
