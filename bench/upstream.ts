// A stand-in for a gateway, as cheap as Node can make one: 0.5 KB of chat completion, or 100 events of a stream.
import { createServer } from 'node:http';

const USAGE = { prompt_tokens: 12, completion_tokens: 40, total_tokens: 52 };
const WHOLE = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1700000000,
    model: 'bench',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(280) }, finish_reason: 'stop' }],
    usage: USAGE,
  }),
);

const event = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1700000000, model: 'bench', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const WORD = Buffer.from(event({ content: ' word' }));
const LAST = Buffer.from(
  `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n` +
    `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[],"usage":${JSON.stringify(USAGE)}}\n\n` +
    'data: [DONE]\n\n',
);
const EVENTS = 100;

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    if (!Buffer.concat(chunks).includes('"stream":true')) {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': WHOLE.length });
      res.end(WHOLE);
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      if (sent <= EVENTS) res.write(WORD);
      else {
        clearInterval(timer);
        res.end(LAST);
      }
    }, 5);
    res.on('close', () => clearInterval(timer));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
});
