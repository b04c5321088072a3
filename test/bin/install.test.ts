// What a checkout installs, and what it leaves alone: npm itself on a small package whose dependencies are archives in
// the same folder, so that no registry is asked.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { folder, ROOT } from '../support/cli.ts';

const run = promisify(execFile);

/** A checkout that serves with `served` and is tested with `tool`. */
async function checkout(dir: string): Promise<string> {
  for (const name of ['served', 'tool']) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
    await run('npm', ['pack', `./${name}`, '--silent'], { cwd: dir });
  }
  const home = join(dir, 'home');
  mkdirSync(home);
  const [dependencies, devDependencies] = ['served', 'tool'].map((name) => ({
    [name]: `file:../${name}-1.0.0.tgz`,
  }));
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'home', dependencies, devDependencies }));
  await run('npm', ['install', '--package-lock-only', '--offline', '--no-audit'], { cwd: home });
  return home;
}

t.test('serving installs no tools, tools are added, and never taken away', async (t) => {
  const home = await checkout(folder(t));
  const has = (name: string): boolean => existsSync(join(home, 'node_modules', name, 'package.json'));
  /** In a process of its own, as `npm start` and `npm test` run it. @returns what it says */
  const install = async (tools: boolean): Promise<string> => {
    const module = JSON.stringify(join(ROOT, 'bin', 'install.js'));
    const call = `(await import(${module})).installMissing(${JSON.stringify(home)}, { tools: ${tools} })`;
    return (await run(process.execPath, ['--input-type=module', '-e', `await ${call}`])).stderr;
  };
  t.match(
    await install(false),
    /^Installing what serving needs \(npm ci --omit=dev\) \.\.\.\nInstalled what serving needs: 1 package, 0 MB, \d+ s\.\n$/,
  );
  t.same([has('served'), has('tool')], [true, false]);
  t.equal(await install(false), '', 'nothing is missing');

  t.match(await install(true), /^Installing everything for tests and checks \(npm ci\)/);
  t.same([has('served'), has('tool')], [true, true]);
  t.equal(await install(false), '', 'who has everything keeps it');
  t.equal(await install(true), '');

  // A pull changed what serving needs.
  const mark = join(home, 'node_modules', '.package-lock.json');
  const packages = {
    'node_modules/served': { version: '0.9.0' },
    'node_modules/tool': { version: '1.0.0', dev: true },
  };
  writeFileSync(mark, JSON.stringify({ packages }));
  t.match(await install(false), /^Installing everything/);
  t.same([has('served'), has('tool')], [true, true]);
});

t.test('a Node without npm, as Debian packs it, is one sentence', async (t) => {
  const home = await checkout(folder(t));
  const module = JSON.stringify(join(ROOT, 'bin', 'install.js'));
  const call = `await (await import(${module})).installMissing(${JSON.stringify(home)}, { tools: false })`;
  const env = { PATH: folder(t) };
  await t.rejects(run(process.execPath, ['--input-type=module', '-e', call], { env }), {
    code: 1,
    stderr: /^Installing .+\nnpm cannot be run \(spawn npm ENOENT\)\. Install it .+ and start again\.\n$/,
  });
});
