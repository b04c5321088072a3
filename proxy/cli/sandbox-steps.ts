// The steps of `throughline sandbox-check` after the start, in order: LLM call, command in the sandbox, isolation, spend
// rows, pause and resume. Each says in words what is wrong and what helps.
import type { SeenRequest } from '../demo-gateway/demo-gateway.ts';
import { hintFor } from './sandbox-hints.ts';
import { OUTPUT_MARK, reportOf, SECOND_MESSAGE, toolOutputs, toolsOf } from './sandbox-script.ts';
import { Finding, SandboxStart, TAG, type Runtime } from './sandbox-start.ts';
import type { Trial } from './sandbox-trial.ts';
import { call, itemsOf, memberOf, probe, textOf, until, type Received } from './sandbox-trial-client.ts';

export interface StepResult {
  readonly step: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to change; null where nothing is wrong. */
  readonly fix: string | null;
  readonly ms: number;
}

/** What a step says when it did not fail, and what the next ones need of it. */
interface Done<T> {
  readonly said: Pick<StepResult, 'detail'> & Partial<Pick<StepResult, 'status' | 'fix'>>;
  readonly value: T;
}

/** A sandbox that takes conversations. */
interface Agent extends Runtime {
  /** URL of the conversation on its runtime. */
  readonly conversation: string;
}

/** For rows that are there as soon as a call has been answered. */
const SOON_MS = 15_000;
/** Of texts of others. */
const QUOTED_CHARS = 400;
/** Nothing follows on these by itself. */
const FAILED: ReadonlySet<string> = new Set(['error', 'stuck']);
const ENDED: ReadonlySet<string> = new Set([...FAILED, 'finished']);

export class SandboxSteps {
  readonly #trial: Trial;
  /** Longest wait for an act of the agent. */
  readonly #patienceMs: number;
  readonly #signal: AbortSignal;
  readonly #start: SandboxStart;
  readonly results: StepResult[] = [];
  readonly #show: (result: StepResult) => void;

  constructor(trial: Trial, patienceMs: number, signal: AbortSignal, show: (result: StepResult) => void) {
    this.#trial = trial;
    this.#patienceMs = patienceMs;
    this.#signal = signal;
    this.#start = new SandboxStart(trial, patienceMs, signal);
    this.#show = show;
  }

  /** The last lines of the sandbox's log. */
  get log(): readonly string[] {
    return this.#start.log;
  }

  /** Takes one step after the other, as far as they lead. @throws what `signal` was aborted with */
  async run(): Promise<void> {
    const { conversationsPath } = this.#trial.spec;
    const runtime = await this.#step('start', () => this.#started());
    if (runtime === null) return;
    if (conversationsPath === null) {
      const detail = 'the spec has no conversations_path: the agent finds its LLM in its environment';
      this.#add({ step: 'LLM call', status: 'skipped', detail, fix: null, ms: 0 });
      await this.#step('pause and resume', () => this.#pauseAndResume(runtime));
      return;
    }
    const conversation = `${runtime.url}${conversationsPath}/${runtime.conversationId}`;
    const agent: Agent = { ...runtime, conversation };
    if ((await this.#step('LLM call', () => this.#firstCall(agent))) === null) return;
    const output = await this.#step('command', () => this.#commandOutput(agent));
    if (output !== null && output !== '')
      await this.#step('isolation', () => Promise.resolve(this.#isolation(output)));
    await this.#step('spend rows', () => this.#rows(agent));
    const resumed = await this.#step('pause and resume', () => this.#pauseAndResume(agent));
    if (resumed !== null) await this.#step('after the pause', () => this.#secondTurn(agent));
  }

  #add(result: StepResult): void {
    this.results.push(result);
    this.#show(result);
  }

  /** @returns null when it failed */
  async #step<T>(step: string, act: () => Promise<Done<T>>): Promise<T | null> {
    const startedAt = performance.now();
    const msSince = (): number => Math.round(performance.now() - startedAt);
    try {
      const { said, value } = await act();
      this.#add({ step, status: 'ok', fix: null, ms: msSince(), ...said });
      return value;
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof Finding)) throw error;
      this.#add({ step, status: 'failed', detail: error.message, fix: error.fix, ms: msSince() });
      return null;
    }
  }

  async #started(): Promise<Done<Runtime>> {
    const runtime = await this.#start.run();
    const { healthyMs, readyMs } = runtime;
    const detail = `healthy after ${seconds(healthyMs)} s, READY after ${seconds(readyMs)} s`;
    return { said: { detail }, value: runtime };
  }

  async #firstCall(agent: Agent): Promise<Done<true>> {
    const first = await this.#awaitAgent(agent, () => this.#calls().at(0) ?? null);
    if (first === null) throw await this.#noCall(agent);
    const wanted = agent.conversationId;
    const session = headerOf(first, 'x-litellm-session-id');
    if (session === wanted) return done(`it arrived with the conversation's session id ${wanted}`);
    throw new Finding(
      `the call arrived upstream with session id ${session ?? '(none)'}, not with the conversation's ${wanted}`,
      "the agent did not use the conversation's own key: look for another LLM_API_KEY in initial_env",
    );
  }

  async #noCall(agent: Agent): Promise<Finding> {
    const rows = await this.#rowsOf(agent);
    const refused = rows
      .map((row) => textOf(row, 'metadata.error_information.error_message'))
      .find((message) => message !== null);
    const detail =
      rows.length === 0
        ? `the agent did not call the LLM within ${this.#patienceMs / 1000} s`
        : `the agent's calls reach the proxy, but fail: ${refused ?? 'see its log'}`;
    return new Finding(
      await this.#withComplaint(agent, detail),
      'the agent must call the base_url that its conversation names, with its api_key: its log says what it tried; initial_env must override neither',
    );
  }

  /** @returns '' when no command was run */
  async #commandOutput(agent: Agent): Promise<Done<string>> {
    const { hidden } = this.#trial;
    const outputOf = (): string | null => this.#bodies().flatMap(toolOutputs).at(-1) ?? null;
    const output = await this.#awaitAgent(agent, outputOf, ENDED);
    if (output === null) {
      const tools = this.#bodies().flatMap(toolsOf);
      const detail =
        tools.length === 0
          ? 'the agent offered no tools, so that no command could be run'
          : `the agent ran no command; its tools: ${[...new Set(tools)].join(', ')}`;
      const fix = 'isolation was not looked at; if your agent has no terminal, nothing is wrong';
      const said = { status: 'warning', detail: await this.#withComplaint(agent, detail), fix } as const;
      return { said, value: '' };
    }
    const report = reportOf(output, hidden.length);
    if (report === null)
      throw new Finding(
        `the command did not run to its end: ${output.slice(0, QUOTED_CHARS)}`,
        hintFor(output) ?? 'its terminal needs a shell (and tmux, if it uses it) in the sandbox',
      );
    if (report.canWrite) {
      const said = { detail: `the agent ran a command in the sandbox (${OUTPUT_MARK}) and wrote a file` };
      return { said, value: output };
    }
    throw new Finding(
      'the command ran, but could not write into its working folder',
      "set working_dir to a folder below '{sandbox_dir}'",
    );
  }

  #isolation(output: string): Done<true> {
    const { hidden, settings } = this.#trial;
    const readable = hidden.filter((_, at) => reportOf(output, hidden.length)?.readable[at] === true);
    if (readable.length === 0) return done("the configuration and the server's data cannot be read");
    const detail = `the sandbox can read ${readable.join(' and ')}`;
    if (settings.driver === 'process' && settings.isolation !== 'bubblewrap')
      return warn(
        `${detail} (isolation: ${settings.isolation})`,
        'install bubblewrap and set platform.sandbox.isolation: bubblewrap, unless you trust what agents run',
      );
    throw new Finding(detail, 'take the folder out of readable_paths, or out of the mounts of the image');
  }

  async #rows(agent: Agent): Promise<Done<true>> {
    const count = this.#calls().length;
    const rows = await until(
      async () => {
        const found = await this.#rowsOf(agent);
        return found.length >= count ? found : null;
      },
      SOON_MS,
      this.#signal,
    );
    if (rows === null)
      throw new Finding(
        `of ${count} calls, ${(await this.#rowsOf(agent)).length} stand in the spend records of the conversation`,
        'some calls were made with another key: look for an LLM_API_KEY in initial_env',
      );
    const tagged = rows.filter((row) => itemsOf(memberOf(row, 'request_tags')).includes(TAG.join(':')));
    if (tagged.length === rows.length)
      return done(`${rows.length} calls stand in the spend records of the conversation, with its tags`);
    throw new Finding('rows lack the tags of the conversation', 'this is a bug of the proxy: report it');
  }

  async #pauseAndResume({ sandboxId, url }: Runtime): Promise<Done<true>> {
    const fix = 'its log says more';
    for (const act of ['pause', 'resume']) {
      const { status, text } = await this.#trial.api('POST', `/sandboxes/${sandboxId}/${act}`);
      if (status !== 200) throw new Finding(`${act} failed: ${text.slice(0, QUOTED_CHARS)}`, fix);
    }
    const healthy = await until(
      async () => ((await probe(`${url}${this.#trial.spec.healthPath}`)) === 200 ? true : null),
      this.#patienceMs,
      this.#signal,
    );
    if (healthy === null) throw new Finding('it does not answer its health check after the pause', fix);
    return done('it was paused, resumed, and answers again');
  }

  async #secondTurn(agent: Agent): Promise<Done<true>> {
    const before = this.#calls().length;
    const content = [{ type: 'text', text: SECOND_MESSAGE }];
    const { status } = await ofRuntime(agent, '/events', { role: 'user', content, run: true });
    if (status < 200 || status > 299)
      return warn(
        `the runtime answered a second message with ${status}`,
        'if your runtime takes messages elsewhere, nothing is wrong',
      );
    const again = await this.#awaitAgent(agent, () => this.#calls().at(before) ?? null);
    if (again !== null) return done('the agent answered a second message');
    throw new Finding('the agent did not call the LLM again after the pause', 'its log says more');
  }

  /** Waits for what the agent does; ends early when the runtime says that the conversation is over. */
  async #awaitAgent<T>(
    agent: Agent,
    look: () => T | null,
    over: ReadonlySet<string> = FAILED,
  ): Promise<T | null> {
    let isOver = false;
    const found = await until(
      async () => {
        const seen = look();
        if (seen !== null || isOver) return { seen };
        const status = textOf((await ofRuntime(agent, '')).json, 'execution_status');
        isOver = status !== null && over.has(status); // looked at once more: it may have come meanwhile
        return null;
      },
      this.#patienceMs,
      this.#signal,
    );
    return found?.seen ?? null;
  }

  /** With the last error of the conversation, in the words of the runtime. */
  async #withComplaint(agent: Agent, detail: string): Promise<string> {
    const query = '/events/search?kind=ConversationErrorEvent&limit=1&sort_order=TIMESTAMP_DESC';
    const [event] = itemsOf(memberOf((await ofRuntime(agent, query)).json, 'items'));
    const words = textOf(event, 'detail')?.slice(0, QUOTED_CHARS);
    return words === undefined ? detail : `${detail}; the agent says: ${words}`;
  }

  async #rowsOf({ conversationId }: Agent): Promise<readonly unknown[]> {
    const { proxy, masterKey } = this.#trial;
    const to = `${proxy.url}/spend/logs?session_id=${conversationId}`;
    return itemsOf((await call(to, { headers: { authorization: `Bearer ${masterKey}` } })).json);
  }

  /** What has reached the demo gateway. */
  #calls(): readonly SeenRequest[] {
    return this.#trial.demo.seen.filter(
      ({ method, path }) => method === 'POST' && /\/(completions|responses|messages)\b/.test(path),
    );
  }

  #bodies(): readonly Readonly<Record<string, unknown>>[] {
    return this.#calls().map(({ body }) => JSON.parse(body.toString('utf8')) as Record<string, unknown>);
  }
}

/** A request about the conversation; status 0 when there is no response. */
function ofRuntime({ conversation, key }: Agent, rest: string, body?: unknown): Promise<Received> {
  const headers = { 'x-session-api-key': key };
  const sent = body === undefined ? { headers } : ({ method: 'POST', headers, body } as const);
  return call(`${conversation}${rest}`, sent).catch(() => ({ status: 0, json: null, text: '' }));
}

function done(detail: string): Done<true> {
  return { said: { detail }, value: true };
}

function warn(detail: string, fix: string): Done<true> {
  return { said: { status: 'warning', detail, fix }, value: true };
}

function headerOf({ rawHeaders }: SeenRequest, name: string): string | null {
  const at = rawHeaders.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  return at < 0 ? null : (rawHeaders[at + 1] ?? null);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
