// Limits of a spec hold for the process of its sandbox.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { at, specs, startPlatform } from '../fixture/rig.ts';
import { killMarked } from '../fixture/sandbox-processes.ts';
import { beforeNextLook } from '../../support/patience.ts';

const PATH = '/api/v1/sandboxes';
const LIMITED = `    - id: limited
      command: [/bin/sh, -c, "ulimit -n; ulimit -v; ulimit -t; exit 7"]
      limits: { open_files: 256, memory_mb: 512, cpu_seconds: 60 }
`;

t.test('limits bound open files, address space and CPU time of a process', async (t) => {
  const rig = await startPlatform(t, { platform: specs(LIMITED, 'none') });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  const id = String(at(await rig.api('POST', `${PATH}?sandbox_spec_id=limited`), 'id'));
  while (at(await rig.api('GET', `${PATH}?id=${id}`), '0.status') === 'STARTING') await beforeNextLook();
  const log = readFileSync(join(rig.folder, 'data', 'sandboxes', id, 'sandbox.log'), 'utf8');
  t.same(log.trim().split('\n'), ['256', String(512 * 1024), '60']);
});
