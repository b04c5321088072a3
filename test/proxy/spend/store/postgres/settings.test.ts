// What the driver is given: certificates are read at each connection, and a path that names no file is refused, not waited for.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { clientConfig, type DatabaseData } from '../../../../../proxy/spend/store/postgres/settings.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const DATABASE: DatabaseData = {
  host: 'db.example.com',
  port: 5432,
  database: 'spend',
  user: 'u',
  password: null,
  schema: 'throughline',
  options: null,
  tls: 'verify-full',
  caFile: null,
  certFile: null,
  keyFile: null,
  connectTimeoutMs: 1000,
  shown: 'postgresql://db.example.com:5432/spend',
};

t.test('the authority is read for each client; a pipe in its place is refused', (t) => {
  const dir = tempDir(t);
  const [file, pipe] = [join(dir, 'ca.pem'), join(dir, 'pipe')];
  writeFileSync(file, 'PEM');
  t.equal(spawnSync('mkfifo', [pipe]).status, 0);
  t.match(clientConfig({ ...DATABASE, caFile: file }, true, 1000).ssl, { ca: Buffer.from('PEM') });
  t.throws(
    () => clientConfig({ ...DATABASE, caFile: pipe }, true, 1000),
    /is a pipe or a device, not a file/,
  );
  t.end();
});
