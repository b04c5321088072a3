// The behaviours of the demo gateway: one table that tests, `demo-gateway --help` and the docs read. It knows names
// and sentences only; what a behaviour does stands in the file that does it. Imports nothing.

/** One behaviour: the words to write into a model name, and what the gateway then does. */
interface Behaviour {
  readonly name: string;
  readonly what: string;
}

/** Every behaviour. A model name selects those whose words stand in its last path segment (`demo-slow-429`). */
export const BEHAVIOURS = [
  {
    name: 'echo',
    what: "the answer's text is a JSON string {method, path, headers (raw list), body (text)}",
  },
  {
    name: 'tools',
    what: "calls the request's first tool (deltas in pieces); a text once its result is there",
  },
  { name: 'loop', what: "calls the request's first tool each time, whatever it has returned" },
  { name: 'slow', what: 'first byte (status line) after slowMs' },
  {
    name: 'slow-stream',
    what: 'status line at once, then slowMs before each event (each half, not streamed)',
  },
  { name: 'interval', what: 'eventIntervalMs between two events (two halves, not streamed)' },
  { name: 'hold', what: 'waits until release() is called, then answers' },
  { name: 'silent', what: 'accepts the request and never answers (gives up after stallMs)' },
  { name: 'stall', what: 'sends half the answer, then nothing (gives up after stallMs)' },
  { name: 'drop', what: 'closes the connection without any reply' },
  { name: 'header-then-close', what: 'sends status line and headers, then closes the connection' },
  { name: 'cut', what: 'closes the connection midway, in a stream or inside content-length' },
  { name: 'cut-clean', what: 'half the answer, ended cleanly: no finish_reason, no [DONE], broken JSON' },
  {
    name: 'no-done',
    what: 'a stream with its finish_reason but no [DONE] / message_stop / response.completed',
  },
  { name: 'error-event', what: 'an error event midway in a 200 stream, then the end' },
  {
    name: 'malformed',
    what: 'one event that is not JSON in an otherwise good stream; not streamed: broken JSON',
  },
  { name: 'refuse-401', what: '401: the key is not known' },
  { name: 'refuse-400', what: '400 with type invalid_request_error' },
  { name: 'context', what: '400 with the context window text' },
  { name: '404', what: '404: no such model' },
  { name: '429', what: '429 with retry-after: 7' },
  { name: '500', what: '500 with a JSON error' },
  { name: '502-html', what: "502 with a load balancer's HTML page" },
  { name: '503', what: '503 with a JSON error' },
  { name: 'redirect', what: '307 to /elsewhere on this gateway, which the list of seen requests would show' },
  { name: 'huge', what: 'an answer of 5 MB; streamed: 20,000 events' },
  { name: 'big-event', what: 'one event with 300 KB of text' },
  { name: 'no-usage', what: 'no usage anywhere' },
  {
    name: 'usage-in-last',
    what: 'chat streams: usage on the chunk with the finish_reason, asked for or not',
  },
  {
    name: 'cached',
    what: 'usage with cached (1/2 of the prompt), cache creation (1/4) and reasoning (1/2) tokens',
  },
  { name: 'crlf', what: 'CRLF line ends in the stream' },
  { name: 'pings', what: 'a comment line before each event' },
  { name: 'bytewise', what: 'each byte is written by itself, in a turn of its own' },
  { name: 'gzip', what: 'gzip encoding, whatever accept-encoding says' },
  { name: 'duplicate-id', what: 'always the same id' },
  { name: 'cost', what: 'x-litellm-response-cost: 0.00125 on both faces, streams too' },
  { name: 'no-cost', what: 'no x-litellm-response-cost on any face' },
  { name: 'cost-none', what: 'x-litellm-response-cost: None on both faces, streams too' },
  {
    name: 'many-headers',
    what: "hop-by-hop headers (one named in Connection), cookies, a model id of the gateway's own",
  },
] as const satisfies readonly Behaviour[];

export type BehaviourName = (typeof BEHAVIOURS)[number]['name'];

const MOST_WORDS = 3;
const BY_NAME: Readonly<Record<string, BehaviourName>> = Object.freeze(
  Object.fromEntries(BEHAVIOURS.map(({ name }) => [name, name])),
);

/**
 * The behaviours that a model name selects: its last path segment, split at `-`, longest name first (so `cut-clean`
 * is not `cut`). Words that name nothing select nothing, so that real model names behave normally.
 */
export function behavioursOf(model: string): ReadonlySet<BehaviourName> {
  const chosen = new Set<BehaviourName>();
  const words = model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .split('-');
  for (let at = 0; at < words.length; at++) {
    for (let count = Math.min(MOST_WORDS, words.length - at); count > 0; count--) {
      const candidate = count === 1 ? (words[at] ?? '') : words.slice(at, at + count).join('-');
      const name = Object.hasOwn(BY_NAME, candidate) ? BY_NAME[candidate] : undefined;
      if (name === undefined) continue;
      chosen.add(name);
      at += count - 1;
      break;
    }
  }
  return chosen;
}

/** The table as text for `--help`: one line per behaviour, the model name to use in front. */
export function describeBehaviours(): string {
  const rows = [
    ['demo-model', 'a short sentence; streamed: word by word. Any other name does the same'] as const,
    ...BEHAVIOURS.map(({ name, what }) => [`demo-${name}`, what] as const),
  ];
  const width = Math.max(...rows.map(([model]) => model.length));
  return rows.map(([model, what]) => `  ${model.padEnd(width)}  ${what}\n`).join('');
}
