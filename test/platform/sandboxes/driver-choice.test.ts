// Where bubblewrap does not work, the operator's word decides: no start, or a warning.
import { join } from 'node:path';
import t from 'tap';
import { specs, startPlatform } from '../fixture/rig.ts';

t.test('without bubblewrap, isolation by it stops the start, and auto warns', async (t) => {
  const env = { PATH: join(t.testdir(), 'nothing-here') };
  await t.rejects(
    startPlatform(t, { platform: specs('', 'bubblewrap'), env }),
    /platform\.sandbox\.isolation is bubblewrap, but bwrap does not work here - install bubblewrap/,
  );
  const rig = await startPlatform(t, { platform: specs('', 'auto'), env });
  t.ok(rig.log.some(({ msg }) => String(msg).startsWith('SANDBOXES ARE NOT ISOLATED')));
});
