// The cost goes into the usage of one event; every other byte is the upstream's.
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { SseTap } from '../../../proxy/relay/sse-tap.ts';
import { withCost } from '../../../proxy/protocols/usage-cost.ts';
import { chunk, DONE, USAGE, usageOnly } from '../relay/fixture/streams.ts';

const cost = (event: string, protocol: Protocol = chat): string | undefined =>
  withCost(Buffer.from(event), protocol.events, '0.00125')?.toString();

t.test('the cost becomes the last member of the usage, wherever a protocol has it', async (t) => {
  t.equal(
    cost('data: {"choices":[], "usage" : {"prompt_tokens":1.0e0 },"x":"é"}\n\n'),
    'data: {"choices":[], "usage" : {"prompt_tokens":1.0e0,"cost":0.00125 },"x":"é"}\n\n',
  );
  t.equal(
    cost(
      'event: response.completed\ndata:{"type":"response.completed","response":{"usage":{}}}\r\n\r\n',
      responses,
    ),
    'event: response.completed\ndata:{"type":"response.completed","response":{"usage":{"cost":0.00125}}}\r\n\r\n',
  );
  t.equal(
    cost('event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":2}}\n\n', messages),
    'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":2,"cost":0.00125}}\n\n',
  );
});

t.test('what is not the plain shape is left as it is', async (t) => {
  for (const event of [
    'data: {"usage":null}\n\n',
    'data: {"usage":{"cost":1}}\n\n',
    'data: {"choices":[{"usage":{}}]}\n\n',
    'data: {"usage":\ndata: {}}\n\n',
    'data: [DONE]\n\n',
    ': comment\n\n',
  ])
    t.equal(cost(event), undefined, event);
});

t.test('a stream gets it once its usage is known, however it was cut up', async (t) => {
  const stream = chunk('a') + chunk('b', 'stop') + usageOnly + DONE;
  const wanted = stream.replace('"total_tokens":5', '"total_tokens":5,"cost":7');
  for (const size of [1, 5, 64, 10_000]) {
    const tap = new SseTap(chat.events, {
      stripUsage: false,
      priceUsage: (usage) => (usage === null ? null : '7'),
    });
    const out: Buffer[] = [];
    const bytes = Buffer.from(stream);
    for (let at = 0; at < bytes.length; at += size)
      out.push(tap.push(bytes.subarray(at, at + size)) ?? Buffer.alloc(0));
    t.equal(Buffer.concat(out).toString(), wanted, `${size}`);
    t.same(tap.usage, USAGE, 'what is recorded is what the upstream sent');
  }
  const stripped = new SseTap(chat.events, { stripUsage: true, priceUsage: () => '7' });
  t.equal(stripped.push(Buffer.from(stream))?.toString(), chunk('a') + chunk('b', 'stop') + DONE);
});
