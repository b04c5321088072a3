import t from 'tap';
import { accessText, type AccessLine } from '../../../proxy/observability/access-log.ts';
import { openLog } from '../../../proxy/observability/logger.ts';

const LINE: AccessLine = {
  call_id: '01a1fe16-ec65-7003-aa73-1f39540ea001',
  call_type: 'acompletion',
  model: 'm',
  model_id: 'm-1',
  upstream: 'http://127.0.0.1:1/v1',
  protocol: 'chat',
  status: 200,
  end: 'complete',
  ms: 12,
  first_byte_ms: null,
  session: 's',
  key: 'ci',
  team: null,
  tokens: 52,
  attempts: 1,
  upstream_call_id: null,
  fault: null,
  error: null,
  why: null,
};

t.test('a line is one line of JSON, whatever stands in its texts', async (t) => {
  for (const text of ['plain', 'a "b" \\c', 'two\nlines\r', '\u2028 ä 漢 \ud800', '\0\x1f\x7f', '']) {
    const line = accessText(30, ',"time":"x"', { ...LINE, model: text, session: text });
    t.equal(line.indexOf('\n'), line.length - 1);
    t.match(JSON.parse(line), { ...LINE, model: text, session: text, level: 30, msg: 'request' });
  }
  t.match(JSON.parse(accessText(40, '', { ...LINE, trace_id: 'ab' })), { level: 40, trace_id: 'ab' });
});

t.test('it has the members of the log in their order, and the worker where there are several', async (t) => {
  const lines: string[] = [];
  const { log } = openLog('info', { write: (line) => void lines.push(line) }, 2);
  log.access(LINE);
  log.info({ ...LINE }, 'request');
  const [own, other] = lines.map((line) => Object.keys(JSON.parse(line) as object));
  t.same(own, other);
  t.ok(own?.includes('worker'));
});

t.test('the level of the log silences what is below', async (t) => {
  for (const [level, count] of [
    ['debug', 3],
    ['info', 3],
    ['warn', 2],
    ['error', 1],
    ['silent', 0],
  ] as const) {
    const lines: string[] = [];
    const { log } = openLog(level, { write: (line) => void lines.push(line) });
    log.access(LINE);
    log.access(LINE, 40);
    log.access(LINE, 50);
    t.equal(lines.length, count, level);
  }
});
