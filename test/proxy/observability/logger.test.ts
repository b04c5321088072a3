import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { openLog, type LogLevel } from '../../../proxy/observability/logger.ts';

function linesOf(
  level: LogLevel,
  act: (log: ReturnType<typeof openLog>['log']) => void,
): Record<string, unknown>[] {
  const lines: string[] = [];
  act(openLog(level, { write: (line) => void lines.push(line) }).log);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

t.test('a record is one line of JSON with level, time and message, and nothing of the host', async (t) => {
  const [line = {}] = linesOf('info', (log) => log.info({ call_id: 'x', text: 'a\nb "c"' }, 'request'));
  t.same(Object.keys(line), ['level', 'time', 'call_id', 'text', 'msg']);
  t.match(line, {
    level: 30,
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    text: 'a\nb "c"',
    msg: 'request',
  });
});

t.test('levels below the wanted one are not written, and silent writes none', async (t) => {
  const all = (log: ReturnType<typeof openLog>['log']): void => {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level);
  };
  const told = (level: LogLevel): unknown[] => linesOf(level, all).map((line) => line['msg']);
  t.same(told('debug'), ['debug', 'info', 'warn', 'error']);
  t.same(told('warn'), ['warn', 'error']);
  t.same(told('silent'), []);
});

t.test('a secret in a record prints itself as one; an error has its stack', async (t) => {
  const [line] = linesOf('info', (log) =>
    log.error({ key: new Secret('sk-hidden'), err: new Error('why') }, 'x'),
  );
  t.notMatch(JSON.stringify(line), /sk-hidden/);
  t.match(line, { key: '[secret]', err: { message: 'why', stack: /logger\.test/ } });
});

t.test('what is buffered is written by flush before the process ends', async (t) => {
  const logger = join(import.meta.dirname, '../../../proxy/observability/logger.ts');
  const script = `
    const { openLog } = await import(${JSON.stringify(logger)});
    const { log, flush } = openLog('info');
    for (let n = 0; n < 3; n++) log.info({ n }, 'buffered');
    await flush();
    process.exit(0);`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  const lines = out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { n: number }).n);
  t.same(lines, [0, 1, 2]);
});
