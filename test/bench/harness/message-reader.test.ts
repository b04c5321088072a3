// The load client's reader of answers.
import t from 'tap';
import { MessageReader } from '../../../bench/harness/message-reader.ts';

t.test('messages are read the same however the bytes are cut', (t) => {
  const wire = Buffer.from(
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc' +
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nt: 1\r\n\r\n' +
      'HTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n',
  );
  for (let size = 1; size <= wire.length; size += 1) {
    const seen: string[] = [];
    let body = '';
    const reader = new MessageReader({
      onHead: (head) => seen.push(head.slice(9, 12)),
      onBody: (bytes) => (body += bytes.toString()),
      onEnd: () => {
        seen.push(body);
        body = '';
      },
    });
    for (let i = 0; i < wire.length; i += size) reader.push(wire.subarray(i, i + size));
    t.same(
      seen,
      ['200', 'abc', '200', 'helloabcdefghijklmnopqrstuvwxyz', '204', ''],
      `${size} bytes at a time`,
    );
  }
  t.throws(
    () =>
      new MessageReader({ onHead: () => 0, onBody: () => 0, onEnd: () => 0 }).push(
        Buffer.from('HTTP/1.1 200\r\n\r\n'),
      ),
    /without a length/,
  );
  t.end();
});
