// Where bubblewrap does not work, the operator's word decides: no start, or a warning.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { specs, startPlatform, type PlatformRig } from '../fixture/rig.ts';
import { killMarked } from '../fixture/sandbox-processes.ts';

t.test('without bubblewrap, isolation by it stops the start, and auto warns', async (t) => {
  const env = { PATH: join(t.testdir(), 'nothing-here') };
  await t.rejects(
    startPlatform(t, { platform: specs('', 'bubblewrap'), env }),
    /platform\.sandbox\.isolation is bubblewrap, but bwrap does not work here - install bubblewrap/,
  );
  const rig = await startPlatform(t, { platform: specs('', 'auto'), env });
  t.ok(rig.log.some(({ msg }) => String(msg).startsWith('SANDBOXES ARE NOT ISOLATED')));
});

/** Of a configuration that has a sandbox section and no specs yet. */
const section = (isolation: string): string => `  sandbox: { isolation: ${isolation} }\n`;

/** What the first sandbox of a spec that a reload brings is answered. */
async function firstAfterReload(rig: PlatformRig, spec: string): Promise<unknown> {
  const config = readFileSync(rig.configPath, 'utf8');
  await rig.reconfigure(config.replace(/( {2}sandbox: .*\n)/, `$1  sandbox_specs:\n    - ${spec}\n`));
  return (await rig.api('POST', '/api/v1/sandboxes')).json;
}

t.test('isolation is demanded of specs too that come with a reload', async (t) => {
  const env = { PATH: join(t.testdir(), 'nothing-here') };
  const spec = '{ id: later, command: [/bin/sleep, "60"] }';
  const strict = await startPlatform(t, { platform: section('bubblewrap'), env });
  t.teardown(() => killMarked(join(strict.folder, 'data')));
  t.match(await firstAfterReload(strict, spec), {
    detail: /isolation is bubblewrap, but bwrap does not work/,
  });
  const lax = await startPlatform(t, { platform: section('auto'), env });
  t.teardown(() => killMarked(join(lax.folder, 'data')));
  t.match(await firstAfterReload(lax, spec), { status: 'STARTING' });
  const warned = lax.log.filter(({ msg }) => String(msg).startsWith('SANDBOXES ARE NOT ISOLATED'));
  t.equal(warned.length, 1);
});

t.test('a readable path that comes with a reload must not show the data of the server', async (t) => {
  const rig = await startPlatform(t, { platform: section('auto') });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  const spec = `{ id: later, command: [/bin/sleep, "60"], readable_paths: ["${rig.folder}"] }`;
  t.match(await firstAfterReload(rig, spec), {
    detail: /readable_paths of "later" holds .* which would show/,
  });
});
