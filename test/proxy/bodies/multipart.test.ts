// Forms: what is found, what is refused, and what an edit leaves alone. The platform's own FormData writer makes the
// honest bodies and its reader is the second opinion.
import fc from 'fast-check';
import t from 'tap';
import {
  boundaryOf,
  peekMultipart,
  peekMultipartInSlices,
  spliceMultipart,
  type Field,
  type FormEdit,
  type PeekedForm,
} from '../../../proxy/bodies/multipart.ts';
import { runs } from '../../support/runs.ts';

const WANTED = { names: new Set(['model', 'stream', 'metadata']), prefixes: ['litellm_'] };
const B = 'XyZ-1';

interface Part {
  readonly head: string;
  readonly value: string;
}

const field = (name: string, value: string, more = ''): Part => ({
  head: `Content-Disposition: form-data; name="${name}"${more}`,
  value,
});
const form = (...parts: Part[]): string =>
  `${parts.map(({ head, value }) => `--${B}\r\n${head}\r\n\r\n${value}\r\n`).join('')}--${B}--\r\n`;

function opened(body: string | Buffer, boundary = B): PeekedForm {
  const found = peekMultipart(Buffer.from(body), boundary, WANTED);
  if (!found.ok) throw new Error(found.detail);
  return found;
}

function fieldOf(found: PeekedForm, name: string): Field {
  const one = found.fields.find((each) => each.name === name);
  if (one === undefined) throw new Error(`no ${name}`);
  return one;
}

function refused(body: string | Buffer): { fault: string; detail: string } {
  const found = peekMultipart(Buffer.from(body), B, WANTED);
  return found.ok ? { fault: 'accepted', detail: '' } : { fault: found.fault, detail: found.detail };
}

t.test('the boundary is read from the content type, quoted or not', (t) => {
  const cases: [string, string | null][] = [
    ['multipart/form-data; boundary=----WebKitFormBoundaryAbC1', '----WebKitFormBoundaryAbC1'],
    ['Multipart/Form-Data;charset=utf-8; Boundary="a b:c=="; ', 'a b:c=='],
    ['multipart/form-data; boundary="===123=="', '===123=='],
    [`multipart/form-data; boundary=${'b'.repeat(70)}`, 'b'.repeat(70)],
    [`multipart/form-data; boundary=${'b'.repeat(71)}`, null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; boundary=""', null],
    ['multipart/form-data; boundary="a "', null],
    ['multipart/form-data; boundary="a', null],
    ['multipart/form-data; boundary=a b', null],
    ['multipart/form-data; boundary=a; boundary=b', null],
    ['multipart/form-data; boundary="a\\"b"', null],
    ['multipart/form-data; boundary="é"', null],
    ['multipart/form-data', null],
    ['multipart/mixed; boundary=a', null],
    ['application/json', null],
    ['', null],
  ];
  for (const [type, boundary] of cases) t.equal(boundaryOf(type), boundary, type);
  t.end();
});

t.test('wanted fields are found among files and other fields', (t) => {
  const body = form(
    field(
      'file',
      'RIFF\r\n\u0000 name="model"\r\n\r\n',
      '; filename="a \\ b.wav"\r\nContent-Type: audio/wav',
    ),
    {
      head: 'content-type: text/plain; charset=UTF-8\r\nCONTENT-DISPOSITION:form-data;name=model',
      value: 'gpt-é',
    },
    field('language', 'en'),
    field('litellm_x', ''),
    field('metadata', '{\r\n\t"tags": []\n}'),
  );
  const found = opened(body);
  t.strictSame(
    found.fields.map(({ name, value }) => [name, value]),
    [
      ['model', 'gpt-é'],
      ['litellm_x', ''],
      ['metadata', '{\r\n\t"tags": []\n}'],
    ],
  );
  t.equal(found.partCount, 5);
  const bytes = Buffer.from(body);
  for (const { value, valueStart, valueEnd } of found.fields)
    t.equal(bytes.toString('utf8', valueStart, valueEnd), value);
  t.equal(opened(`--${B}--`).partCount, 0, 'a form without parts');
  t.end();
});

t.test('a wanted field that stands twice is refused, an unwanted one is not', (t) => {
  t.match(refused(form(field('model', 'a'), field('x', '1'), field('model', 'a'))), {
    fault: 'duplicate_member',
    detail: /"model" stands in the form twice/,
  });
  t.ok(
    opened(form(field('timestamp_granularities[]', 'word'), field('timestamp_granularities[]', 'segment'))),
  );
  t.end();
});

t.test('a wanted name that is a file, or encoded, or holds a line break is refused', (t) => {
  const odd = [
    field('model', 'a', '; filename="m.txt"'),
    field('model', 'a', "; filename*=UTF-8''m.txt"),
    field('model', 'a', '\r\nContent-Type: application/octet-stream'),
    field('model', 'a', '\r\nContent-Type: text/plain; charset=utf-16'),
    field('model', 'YQ==', '\r\nContent-Transfer-Encoding: base64'),
    field('model', 'a\r\nb'),
    field('model', 'a\nb'),
    field('model', 'a\u0000'),
    field('metadata', '{"a":"\u0000"}'),
  ];
  for (const part of odd) t.equal(refused(form(part)).fault, 'odd_member', JSON.stringify(part));
  t.equal(refused(Buffer.from(form(field('model', '\u00ff')), 'latin1')).fault, 'invalid_utf8');
  t.ok(
    opened(form(field('other', 'YQ==\u0000\n', '\r\nContent-Transfer-Encoding: base64'))),
    'of other fields it is no matter',
  );
  t.end();
});

t.test('framing that two readers could read differently is refused with a sentence', (t) => {
  const good = field('model', 'a');
  const whole = form(good);
  const bad: Record<string, string> = {
    'an empty body': '',
    'a preamble': `hello\r\n${whole}`,
    'a CRLF before the first boundary': `\r\n${whole}`,
    'another boundary': whole.replaceAll(B, 'other'),
    'LF line ends': whole.replaceAll('\r\n', '\n'),
    'no closing boundary': whole.slice(0, whole.indexOf(`--${B}--`)),
    'a cut closing boundary': whole.slice(0, -4),
    'an epilogue': `${whole}x`,
    'a second form': whole + whole,
    'blanks after a boundary': whole.replace(`--${B}\r\n`, `--${B} \r\n`),
    'a longer boundary': whole.replace(`--${B}\r\n`, `--${B}x\r\n`),
    'a boundary after a bare LF': form(
      field('x', `1\n--${B}\r\nContent-Disposition: form-data; name="model"\r\n\r\nb`),
    ),
    'a boundary after a bare CR': form(field('x', `1\r--${B}--`)),
    'a boundary within a line': form(field('x', `1 --${B}`)),
    'a boundary at the start of a value': form(field('x', `--${B}--`)),
    'a part without a value': `--${B}\r\n${good.head}\r\n\r\n--${B}--\r\n`,
    'a boundary among the part headers': form({ head: `${good.head}\r\n--${B}`, value: 'a' }),
    'no part headers': `--${B}\r\n\r\na\r\n--${B}--\r\n`,
    'no disposition': form({ head: 'Content-Type: text/plain', value: 'a' }),
    'another disposition': form({ head: 'Content-Disposition: attachment; name="model"', value: 'a' }),
    'two dispositions': form({ head: `${good.head}\r\n${good.head}`, value: 'a' }),
    'two names': form(field('x', 'a', '; name="model"')),
    'an escaped quote': form({
      head: 'Content-Disposition: form-data; filename="x\\"; name="model"',
      value: 'a',
    }),
    'a backslash in the name': form(field('mo\\del', 'a')),
    'an extended name': form({
      head: "Content-Disposition: form-data; name*=UTF-8''model; name=x",
      value: 'a',
    }),
    'a continued name': form({
      head: 'Content-Disposition: form-data; name*0=mo; name*1=del; name=x',
      value: 'a',
    }),
    'a quote that is not closed': form({ head: 'Content-Disposition: form-data; name="model', value: 'a' }),
    'a folded header': form({ head: 'Content-Disposition: form-data;\r\n name="model"', value: 'a' }),
    'a blank before the colon': form({ head: 'Content-Disposition : form-data; name="model"', value: 'a' }),
    'a bare LF among the headers': form({ head: `X: 1\n${good.head}`, value: 'a' }),
    'a control character among the headers': form({ head: `X: \u0001\r\n${good.head}`, value: 'a' }),
    'endless headers': `--${B}\r\n${'X: 1\r\n'.repeat(3_000)}`,
  };
  for (const [what, body] of Object.entries(bad)) {
    const { fault, detail } = refused(body);
    t.equal(fault, 'not_multipart', what);
    t.match(detail, /^(?:The|A|Bytes) .*\.$/);
  }
  t.end();
});

t.test('parts and part headers are bounded', (t) => {
  const head = `--${B}\r\nContent-Disposition: form-data; name="a`;
  t.equal(refused(`${head}"\r\n`).detail, 'The headers of a part of the form are cut short.');
  t.equal(
    refused(`${head}${'b'.repeat(9_000)}"\r\n\r\nv\r\n--${B}--`).detail,
    'The headers of a part of the form are longer than 8192 bytes.',
  );
  const many = (count: number): string =>
    form(...Array.from({ length: count }, (_, i) => field(`f${i}`, 'v')));
  t.equal(opened(many(200)).partCount, 200);
  t.equal(refused(many(201)).fault, 'too_many_parts');
  const padded = (bytes: number): string => {
    const { head } = field('model', 'a');
    return form({ head: `${head}\r\nX: ${'y'.repeat(bytes - head.length - 5)}`, value: 'a' });
  };
  t.ok(opened(padded(8_192)));
  t.match(refused(padded(8_193)), { fault: 'not_multipart', detail: /longer than 8192 bytes/ });
  t.end();
});

t.test('fields are replaced, removed and appended, and no other byte changes', (t) => {
  const parts = [
    field('file', 'ÿ\r\n\r\n--', '; filename="f"'),
    field('model', 'a'),
    field('litellm_x', '1'),
    field('n', '2'),
  ];
  const body = Buffer.from(form(...parts));
  const found = opened(body);
  t.equal(spliceMultipart(body, found, []), body);
  const edits: FormEdit[] = [
    { kind: 'append', name: 'stream', value: 'true' },
    { kind: 'remove', field: fieldOf(found, 'litellm_x') },
    { kind: 'replace', field: fieldOf(found, 'model'), value: 'provider/é' },
  ];
  t.equal(
    spliceMultipart(body, found, edits).toString(),
    form(parts[0] as Part, field('model', 'provider/é'), parts[3] as Part, field('stream', 'true')),
  );
  const one = Buffer.from(form(field('model', 'a')));
  const emptied = spliceMultipart(one, opened(one), [
    { kind: 'remove', field: fieldOf(opened(one), 'model') },
  ]);
  t.equal(emptied.toString(), `--${B}--\r\n`);
  const quoted = spliceMultipart(emptied, opened(emptied), [{ kind: 'append', name: 'a"\r\n\\', value: '' }]);
  t.equal(quoted.toString(), form(field('a%22%0D%0A%5C', '')));
  t.end();
});

t.test('an edit that would break the form is a mistake of the caller and said so', (t) => {
  const body = Buffer.from(form(field('model', 'a')));
  const found = opened(body);
  const smuggled = `x\r\n--${B}--`;
  t.throws(() => spliceMultipart(body, found, [{ kind: 'append', name: 'x', value: smuggled }]), RangeError);
  t.throws(() => spliceMultipart(body, found, [{ kind: 'append', name: 'model', value: 'b' }]), TypeError);
  const model = fieldOf(found, 'model');
  const twice: FormEdit[] = [
    { kind: 'remove', field: model },
    { kind: 'replace', field: model, value: 'b' },
  ];
  t.throws(() => spliceMultipart(body, found, twice), RangeError);
  t.end();
});

t.test('what the platform writes is read, and what was edited the platform reads', async (t) => {
  const text = fc.string({
    unit: fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 1 }),
      fc.constantFrom('"', '\r', '\n', '%', ';', '\u2028'),
    ),
    maxLength: 12,
  });
  const line = text.map((value) => value.replaceAll(/\p{Cc}/gu, ''));
  // Backslashes and raw control characters in names are refused on purpose; the writer escapes CR and LF.
  const name = text.map((value) => value.replaceAll(/[^\P{Cc}\r\n]|\\/gu, ''));
  const plan = fc.record({
    before: fc.array(fc.tuple(name, text), { maxLength: 3 }),
    file: fc.uint8Array({ maxLength: 200 }),
    fileName: name,
    model: line,
    after: fc.array(fc.tuple(name, text), { maxLength: 3 }),
    action: fc.constantFrom('replace', 'remove', 'append'),
    value: line,
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ before, file, fileName, model, after, action, value }) => {
      const sent = new FormData();
      const add = ([name, text]: [string, string]): void => sent.append(`x${name}`, text);
      before.forEach(add);
      sent.append('file', new File([Buffer.from(file)], fileName));
      sent.append('model', model);
      after.forEach(add);
      const written = new Response(sent);
      const type = written.headers.get('content-type') ?? '';
      const body = Buffer.from(await written.arrayBuffer());
      const found = opened(body, boundaryOf(type) ?? '');
      if (fieldOf(found, 'model').value !== model || found.partCount !== [...sent].length) return false;
      const edit: FormEdit =
        action === 'append'
          ? { kind: 'append', name: 'stream', value }
          : action === 'remove'
            ? { kind: 'remove', field: fieldOf(found, 'model') }
            : { kind: 'replace', field: fieldOf(found, 'model'), value };
      const read = await new Response(spliceMultipart(body, found, [edit]), {
        headers: { 'content-type': type },
      }).formData();
      const original = await new Response(body, { headers: { 'content-type': type } }).formData();
      if (action === 'append') original.append('stream', value);
      else if (action === 'remove') original.delete('model');
      else original.set('model', value);
      return (await plain(read)) === (await plain(original));
    }),
    { numRuns: runs(100) },
  );
  t.pass('all forms');
});

async function plain(data: FormData): Promise<string> {
  const entries = await Promise.all(
    [...data].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()]),
  );
  return JSON.stringify(entries);
}

t.test('any damage to a form is refused or leaves a form, never an exception', (t) => {
  const body = Buffer.from(
    form(field('file', 'abc\r\n', '; filename="f"'), field('model', 'a'), field('stream', 'true')),
  );
  const bytes = fc.constantFrom(0, 9, 10, 13, 32, 34, 45, 58, 59, 61, 92, 120, 255);
  const change = fc.record({
    at: fc.nat({ max: body.length - 1 }),
    byte: bytes,
    how: fc.constantFrom('set', 'add', 'drop'),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let damaged = body;
      for (const { at, byte, how } of changes) {
        const insert = how === 'drop' ? [] : [byte];
        damaged = Buffer.concat([
          damaged.subarray(0, at),
          Buffer.from(insert),
          damaged.subarray(how === 'add' ? at : at + 1),
        ]);
      }
      const found = peekMultipart(damaged, B, WANTED);
      if (!found.ok) return found.at >= 0 && found.at <= damaged.length && found.detail.endsWith('.');
      return found.fields.every(
        ({ value, valueStart, valueEnd }) => damaged.toString('utf8', valueStart, valueEnd) === value,
      );
    }),
    { numRuns: runs(750) },
  );
  t.pass('all bodies');
  t.end();
});

t.test('a large form gives the event loop a turn for every 256 KiB, whatever it holds', async (t) => {
  const size = 2_097_152;
  for (const filling of ['x', `\r\n--${B.slice(0, -1)}`, '-', '\r\n']) {
    let turns = 0;
    const turn = async (): Promise<void> => void (turns += 1);
    const file = {
      head: 'Content-Disposition: form-data; name="file"; filename="a"',
      value: filling.repeat(size / filling.length),
    };
    const body = Buffer.from(form(file, field('model', 'm')));
    const found = await peekMultipartInSlices(body, B, WANTED, turn);
    t.match(found, { ok: true, partCount: 2, fields: [{ name: 'model', value: 'm' }] });
    t.same(found, peekMultipart(body, B, WANTED), 'the same as at once');
    t.ok(turns >= 7 && turns <= 8, `${turns} turns`);
  }
});

t.test('a boundary is found wherever a slice ends', async (t) => {
  for (let shift = -8; shift <= 8; shift++) {
    const head = 'Content-Disposition: form-data; name="file"; filename="a"';
    const file = { head, value: 'x'.repeat(262_144 - head.length + shift) };
    t.equal(opened(form(file, field('model', 'm'))).fields[0]?.value, 'm', `${shift}`);
  }
});

t.test('a million parts, or headers of a part, end the scan at its bounds', async (t) => {
  const parts = `--${B}\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n`.repeat(1_000_000);
  t.match(refused(`${parts}--${B}--\r\n`), { fault: 'too_many_parts' });
  t.match(refused(`--${B}\r\n${'a: b\r\n'.repeat(1_000_000)}\r\n--${B}--\r\n`), { fault: 'not_multipart' });
  const long = form(field('metadata', 'x'.repeat(262_145)));
  t.match(refused(long), { fault: 'odd_member', detail: /longer than 262144 bytes/ });
});
