// A conversation that was translated for a while goes back to its own protocol without the signatures of others.
import { Buffer } from 'node:buffer';
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { peek } from '../../../../proxy/bodies/peek.ts';
import {
  FOREIGN_SIGNATURES,
  withoutForeignSignatures,
} from '../../../../proxy/protocols/translation/foreign-signatures.ts';
import { NAMES, REQUESTS, type Name } from './fixture/requests.ts';
import { PROTOCOLS } from './fixture/talk.ts';

const mayHold = (body: unknown): boolean => {
  const peeked = peek(Buffer.from(JSON.stringify(body)), WANTED, 64);
  return peeked.ok && peeked.hasText;
};
const WANTED = { names: new Set<string>(), prefixes: [], texts: FOREIGN_SIGNATURES };
const own = (name: Name, request: Json, model = 'gemini-3-pro'): Json =>
  withoutForeignSignatures(PROTOCOLS[name], request, model);

t.test('requests without them are known by their bytes, and stay as they are', (t) => {
  for (const name of NAMES) {
    t.notOk(mayHold(REQUESTS[name]), name);
    t.equal(own(name, REQUESTS[name]), REQUESTS[name], name);
  }
  t.end();
});

t.test('a text that begins with the prefix alone is none', (t) => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  for (const text of ['throughline.yaml', 'throughline. is a word', base64('throughline.yaml')]) {
    t.notOk(mayHold({ a: text }), text);
    const holders: readonly [Name, Json][] = [
      ['messages', { messages: [{ role: 'assistant', content: [{ type: 'thinking', signature: text }] }] }],
      ['responses', { input: [{ type: 'reasoning', encrypted_content: text }] }],
      ['gemini', { contents: [{ parts: [{ text: 'a', thoughtSignature: text }] }] }],
    ];
    for (const [name, request] of holders) t.equal(own(name, request), request, `${name}: ${text}`);
  }
  t.end();
});

t.test('each origin is found, also in base64, whatever its signature is', (t) => {
  for (const origin of ['chat', 'chat_unshown', 'messages', 'messages_redacted', 'responses', 'gemini'])
    for (const data of ['', 'x', '\u00ff']) {
      const shown = `throughline.${origin}.${data}`;
      t.ok(mayHold({ a: shown }), shown);
      t.ok(mayHold({ a: Buffer.from(shown).toString('base64') }), `${shown} in base64`);
    }
  t.end();
});

t.test('messages: thoughts of others go, and a turn that held nothing else', (t) => {
  const foreign = { type: 'thinking', thinking: 'hm', signature: 'throughline.chat.' };
  const signed = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
  const redacted = { type: 'redacted_thinking', data: 'throughline.gemini.x' };
  const text = { type: 'text', text: 'throughline. is a word here' };
  const turn = (content: unknown): Json => ({ role: 'assistant', content });
  const request = {
    messages: [turn([foreign, signed, redacted, text]), turn([foreign]), turn('throughline.'), null],
  };
  t.ok(mayHold(request));
  t.same(own('messages', request), { messages: [turn([signed, text]), turn('throughline.'), null] });
  t.end();
});

t.test('responses and chat completions', (t) => {
  const item = (encrypted_content: string): Json => ({ type: 'reasoning', summary: [], encrypted_content });
  t.same(own('responses', { input: [item('throughline.messages.x'), item('c2ln'), 'x'] }), {
    input: [item('c2ln'), 'x'],
  });
  t.same(own('responses', { input: 'throughline.' }), { input: 'throughline.' });
  const block = (signature: string): Json => ({ type: 'thinking', thinking: 'hm', signature });
  const message = (...blocks: Json[]): Json => ({ role: 'assistant', content: 'a', thinking_blocks: blocks });
  t.same(own('chat', { messages: [message(block('throughline.gemini.x'), block('y'))] }), {
    messages: [message(block('y'))],
  });
  t.end();
});

t.test('gemini: a call of the third generation gets the signature that stands for others', (t) => {
  const thoughtSignature = Buffer.from('throughline.messages.c2ln').toString('base64');
  const call = { functionCall: { name: 'f', args: {} } };
  const contents = [
    {
      role: 'model',
      parts: [
        { text: 'a', thoughtSignature },
        { ...call, thought_signature: thoughtSignature },
      ],
    },
  ];
  t.ok(mayHold({ contents }));
  const parts = (last: Json): Json => ({ contents: [{ role: 'model', parts: [{ text: 'a' }, last] }] });
  t.same(
    own('gemini', { contents }),
    parts({ ...call, thoughtSignature: 'skip_thought_signature_validator' }),
  );
  t.same(own('gemini', { contents }, 'gemini-2.5-pro'), parts(call));
  t.end();
});
