import t from 'tap';
import { accessText, type AccessLine } from '../../../proxy/observability/access-log.ts';
import { openLog } from '../../../proxy/observability/logger.ts';

const LINE: AccessLine = {
  call_id: '01a1fe16-ec65-7003-aa73-1f39540ea001',
  call_type: 'acompletion',
  model: 'm',
  upstream: 'http://127.0.0.1:1/v1',
  status: 200,
  end: 'complete',
  ms: 12,
  first_byte_ms: null,
  session: 's',
  tokens: 52,
  error: null,
};

t.test('a line is one line of JSON, whatever stands in its texts', async (t) => {
  for (const text of ['plain', 'a "b" \\c', 'two\nlines\r', '\u2028 ä 漢 \ud800', '\0\x1f\x7f', '']) {
    const line = accessText(',"time":"x"', { ...LINE, model: text, session: text });
    t.equal(line.indexOf('\n'), line.length - 1);
    t.match(JSON.parse(line), { ...LINE, model: text, session: text, level: 30, msg: 'request' });
  }
  t.match(JSON.parse(accessText('', { ...LINE, attempts: 3 })), { attempts: 3 });
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

t.test('a level above info silences it', async (t) => {
  const lines: string[] = [];
  openLog('warn', { write: (line) => void lines.push(line) }).log.access(LINE);
  t.same(lines, []);
});
