// The steps of `throughline sandbox-check`, in order: start, conversation, LLM call, command in the sandbox, isolation,
// spend rows, pause and resume. Each says in words what is wrong and what helps.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SeenRequest } from '../demo-gateway/demo-gateway.ts';
import { hintFor, lastLines } from './sandbox-hints.ts';
import { OUTPUT_MARK, reportOf, SECOND_MESSAGE, toolOutputs, toolsOf } from './sandbox-script.ts';
import { AGENT_MODEL, type Trial } from './sandbox-trial.ts';
import { call, itemsOf, memberOf, probe, textOf, until, type Received } from './sandbox-trial-client.ts';

export interface StepResult {
  readonly step: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to change; null where nothing is wrong. */
  readonly fix: string | null;
  readonly ms: number;
}

type Said = Pick<StepResult, 'detail'> & Partial<Pick<StepResult, 'status' | 'fix'>>;

/** Something is wrong with the sandbox: the message says what. */
class Finding extends Error {
  override readonly name = 'Finding';
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}

/** Where the sandbox is and how it is spoken to. */
interface Runtime {
  readonly sandboxId: string;
  readonly url: string;
  readonly key: string;
}

const TAG = { sandboxcheck: '1' };
/** Where runtimes answer, when a spec names the wrong path. */
const USUAL_HEALTH_PATHS = ['/alive', '/health', '/healthz', '/ready', '/'] as const;
/** For rows and states that are there as soon as something has answered. */
const SOON_MS = 15_000;
const LOG_LINES = 12;

export class SandboxSteps {
  readonly #trial: Trial;
  /** Longest wait for an act of the agent. */
  readonly #patienceMs: number;
  readonly #signal: AbortSignal;
  #sandboxId: string | null = null;
  /** 32 hex digits. */
  #conversationId = '';
  /** A sandbox that could not start is removed with its log. */
  #logSoFar = '';

  constructor(trial: Trial, patienceMs: number, signal: AbortSignal) {
    this.#trial = trial;
    this.#patienceMs = patienceMs;
    this.#signal = signal;
  }

  /** The last lines of the sandbox's log. */
  get log(): readonly string[] {
    this.#readLog();
    return lastLines(this.#logSoFar, LOG_LINES);
  }

  /** Yields each result as it is there; ends after the first failure that leaves nothing to go on with. */
  async *run(): AsyncGenerator<StepResult> {
    const { conversationsPath } = this.#trial.spec;
    let runtime: Runtime | null = null;
    yield* this.#step('start', async () => {
      const started = await this.#start();
      runtime = started.runtime;
      return started.said;
    });
    if (runtime === null) return;
    const up: Runtime = runtime;
    if (conversationsPath === null) {
      yield skipped(
        'conversation',
        'the spec has no conversations_path: the agent finds its LLM in its environment',
      );
      yield* this.#step('pause and resume', () => this.#pauseAndResume(up));
      return;
    }
    let goesOn = false;
    yield* this.#step('LLM call', async () => {
      const said = await this.#firstCall(up, conversationsPath);
      goesOn = true;
      return said;
    });
    if (!goesOn) return;
    let output: string | null = null;
    yield* this.#step('command', async () => {
      const found = await this.#commandOutput(up, conversationsPath);
      output = found.output;
      return found.said;
    });
    if (output !== null) {
      const text: string = output;
      yield* this.#step('isolation', () => Promise.resolve(this.#isolation(text)));
    }
    yield* this.#step('spend rows', () => this.#rows());
    let isResumed = false;
    yield* this.#step('pause and resume', async () => {
      const said = await this.#pauseAndResume(up);
      isResumed = true;
      return said;
    });
    if (isResumed) yield* this.#step('after the pause', () => this.#secondTurn(up, conversationsPath));
  }

  async *#step(step: string, act: () => Promise<Said>): AsyncGenerator<StepResult> {
    const startedAt = performance.now();
    const msSince = (): number => Math.round(performance.now() - startedAt);
    try {
      const { detail, status = 'ok', fix = null } = await act();
      yield { step, status, detail, fix, ms: msSince() };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof Finding)) throw error;
      yield { step, status: 'failed', detail: error.message, fix: error.fix, ms: msSince() };
    }
  }

  async #start(): Promise<{ readonly said: Said; readonly runtime: Runtime }> {
    const startedAt = performance.now();
    const content = [{ type: 'text', text: 'Run the command of the check.' }];
    const asked = await this.#api('POST', '/app-conversations', {
      llm_model: AGENT_MODEL,
      title: 'sandbox-check',
      tags: TAG,
      initial_message: { role: 'user', content, run: true },
    });
    this.#conversationId = textOf(asked.json, 'app_conversation_id') ?? '';
    const taskId = textOf(asked.json, 'id') ?? '';
    let runningMs: number | null = null;
    const limitMs = this.#trial.settings.startTimeoutMs + this.#patienceMs;
    const task = await until(
      async () => {
        const { json } = await this.#api('GET', `/app-conversations/start-tasks?ids=${taskId}`);
        const [now] = itemsOf(json);
        this.#sandboxId = textOf(now, 'sandbox_id') ?? this.#sandboxId;
        this.#readLog();
        const status = textOf(now, 'status');
        if (status === 'WAITING_FOR_SANDBOX') await this.#checkHealthPath(textOf(now, 'agent_server_url'));
        if (status === 'STARTING_CONVERSATION') runningMs ??= performance.now() - startedAt;
        return status === 'READY' || status === 'ERROR' ? now : null;
      },
      limitMs,
      this.#signal,
    );
    if (task === null)
      throw this.#finding(`it was not ready within ${limitMs / 1000} s`, 'see the log below');
    if (textOf(task, 'status') === 'ERROR')
      throw this.#notStarted(textOf(task, 'detail') ?? 'it could not be started');
    const readyMs = performance.now() - startedAt;
    const runtime = await this.#runtime();
    const detail = `healthy after ${seconds(runningMs ?? readyMs)} s, READY after ${seconds(readyMs)} s at ${runtime.url}`;
    return { said: { detail }, runtime };
  }

  /** What answers 404 at the health path and 200 elsewhere will not be healthy, however long one waits. */
  async #checkHealthPath(url: string | null): Promise<void> {
    const { healthPath } = this.#trial.spec;
    if (url === null) return;
    const status = await probe(`${url}${healthPath}`);
    if (status === null || status < 300 || status >= 500) return;
    for (const path of USUAL_HEALTH_PATHS) {
      const there = path === healthPath ? null : await probe(`${url}${path}`);
      if (there !== null && there < 300)
        throw this.#finding(
          `its runtime answers GET ${healthPath} with ${status}, and GET ${path} with ${there}`,
          `set health_path: ${path}`,
        );
    }
  }

  #notStarted(detail: string): Finding {
    const { healthPath, command, conversationsPath } = this.#trial.spec;
    const { startTimeoutMs } = this.#trial.settings;
    const hint = hintFor(this.#logSoFar);
    if (/was not found/.test(detail))
      return this.#finding(detail, 'write the whole path of the program into command, or install it');
    if (/not in the sandbox/.test(detail)) return this.#finding(detail, 'add the folder that is named');
    if (/was not ready within/.test(detail)) {
      const named = command.some((part) => part.includes('{port}'));
      const slow = `raise platform.sandbox.start_timeout_seconds (now ${startTimeoutMs / 1000}), or correct health_path (${healthPath})`;
      return this.#finding(
        detail,
        hint ?? (named ? slow : "write '{port}' where the command takes its port"),
      );
    }
    if (/runtime refused the conversation/.test(detail))
      return this.#finding(
        detail,
        `conversations_path (${String(conversationsPath)}) must take conversations of an agent server: check the path and the version of the package`,
      );
    if (/runtime did not respond/.test(detail))
      return this.#finding(detail, hint ?? 'its log below says what it was doing');
    return this.#finding(detail, hint ?? 'its log below says why; try the command by hand');
  }

  async #runtime(): Promise<Runtime> {
    const { json } = await this.#api('GET', `/sandboxes?id=${this.#sandboxId ?? ''}`);
    const [sandbox] = itemsOf(json);
    const [exposed] = itemsOf(memberOf(sandbox, 'exposed_urls'));
    const [url, key] = [textOf(exposed, 'url'), textOf(sandbox, 'session_api_key')];
    if (url === null || key === null)
      throw this.#finding(
        `the sandbox is ${textOf(sandbox, 'status') ?? 'gone'}: ${textOf(sandbox, 'status_detail') ?? 'it ended'}`,
        hintFor(this.#logSoFar) ?? 'its log below says why',
      );
    return { sandboxId: this.#sandboxId ?? '', url, key };
  }

  async #firstCall(runtime: Runtime, path: string): Promise<Said> {
    const { demo } = this.#trial;
    const first = await this.#awaitAgent(runtime, path, () => modelCalls(demo.seen).at(0) ?? null);
    if (first === null) {
      const rows = await this.#sessionRows();
      const failed = rows.map((row) => textOf(row, 'metadata.error_information.error_message')).find(Boolean);
      const detail =
        rows.length > 0
          ? `its calls reach the proxy, but are refused: ${failed ?? 'see the log'}`
          : `no LLM call arrived within ${this.#patienceMs / 1000} s`;
      const about = await this.#complaint(runtime, path);
      throw this.#finding(
        about === null ? detail : `${detail}; the agent says: ${about}`,
        'the agent must call the base_url that the conversation names, with its api_key: check what its log says, and that initial_env overrides neither',
      );
    }
    const wanted = dashed(this.#conversationId);
    const session = headerOf(first, 'x-litellm-session-id');
    if (session !== wanted)
      throw this.#finding(
        `the call arrived upstream with session id ${session ?? '(none)'}, not with the conversation's ${wanted}`,
        "the agent did not use the conversation's own key: look for another LLM_API_KEY in initial_env",
      );
    return { detail: `arrived with session id ${wanted}` };
  }

  async #commandOutput(
    runtime: Runtime,
    path: string,
  ): Promise<{ readonly said: Said; readonly output: string | null }> {
    const { demo, hidden } = this.#trial;
    const withTools = await this.#awaitAgent(
      runtime,
      path,
      () => modelCalls(demo.seen).find((seen) => toolsOf(bodyOf(seen)).length > 0) ?? null,
    );
    const outputOf = (): string | null =>
      modelCalls(demo.seen)
        .flatMap((seen) => toolOutputs(bodyOf(seen)))
        .at(-1) ?? null;
    const output = withTools === null ? null : await this.#awaitAgent(runtime, path, outputOf);
    if (output === null) {
      const tools = withTools === null ? [] : toolsOf(bodyOf(withTools));
      const detail =
        tools.length === 0
          ? 'the agent offered no tools, so that no command could be run'
          : `the agent ran no command; its tools: ${tools.join(', ')}`;
      const about = await this.#complaint(runtime, path);
      const fix = 'isolation was not looked at; if your agent has no terminal, nothing is wrong';
      const whole = about === null ? detail : `${detail}; the agent says: ${about}`;
      return { said: { status: 'warning', detail: whole, fix }, output: null };
    }
    const report = reportOf(output, hidden.length);
    if (report === null)
      throw this.#finding(
        `the command did not run to its end: ${output.slice(0, 300)}`,
        hintFor(output) ?? 'its terminal needs a shell (and tmux, if it uses it) in the sandbox',
      );
    if (!report.canWrite)
      throw this.#finding(
        'the command ran, but could not write into its working folder',
        "set working_dir to a folder below '{sandbox_dir}'",
      );
    return {
      said: { detail: `the agent ran a command in the sandbox (${OUTPUT_MARK}) and wrote a file` },
      output,
    };
  }

  #isolation(output: string): Said {
    const { hidden, settings } = this.#trial;
    const readable = hidden.filter((_, at) => reportOf(output, hidden.length)?.readable[at] === true);
    if (readable.length === 0) return { detail: "configuration and the server's data cannot be read" };
    const detail = `the sandbox can read ${readable.join(' and ')}`;
    if (settings.driver === 'process' && settings.isolation !== 'bubblewrap')
      return {
        status: 'warning',
        detail: `${detail} (isolation: ${settings.isolation})`,
        fix: 'install bubblewrap and set platform.sandbox.isolation: bubblewrap, unless you trust what agents run',
      };
    throw this.#finding(detail, 'take the folder out of readable_paths, or out of the mounts of the image');
  }

  async #rows(): Promise<Said> {
    const calls = modelCalls(this.#trial.demo.seen).length;
    const rows = await until(
      async () => {
        const found = await this.#sessionRows();
        return found.length >= calls ? found : null;
      },
      SOON_MS,
      this.#signal,
    );
    if (rows === null)
      throw this.#finding(
        `of ${calls} calls, ${(await this.#sessionRows()).length} stand in the spend records of the conversation`,
        'some calls were made with another key: look for an LLM_API_KEY in initial_env',
      );
    const tagged = rows.filter((row) => itemsOf(memberOf(row, 'request_tags')).includes('sandboxcheck:1'));
    if (tagged.length < rows.length)
      throw this.#finding('rows lack the tags of the conversation', 'this is a bug of the proxy: report it');
    return {
      detail: `${rows.length} calls stand in the spend records under the conversation, with its tags`,
    };
  }

  async #pauseAndResume({ sandboxId, url }: Runtime): Promise<Said> {
    const { healthPath } = this.#trial.spec;
    const fix = 'see the log below, and that of the driver';
    const paused = await this.#api('POST', `/sandboxes/${sandboxId}/pause`);
    if (paused.status !== 200)
      throw this.#finding(`it could not be paused: ${paused.text.slice(0, 300)}`, fix);
    const resumed = await this.#api('POST', `/sandboxes/${sandboxId}/resume`);
    if (resumed.status !== 200)
      throw this.#finding(`it could not be resumed: ${resumed.text.slice(0, 300)}`, fix);
    const healthy = await until(
      async () => ((await probe(`${url}${healthPath}`)) === 200 ? true : null),
      this.#patienceMs,
      this.#signal,
    );
    if (healthy === null) throw this.#finding('it does not answer its health check after the pause', fix);
    return { detail: 'it was paused, resumed, and answers again' };
  }

  async #secondTurn(runtime: Runtime, path: string): Promise<Said> {
    const { demo } = this.#trial;
    const before = modelCalls(demo.seen).length;
    const to = `${runtime.url}${path}/${dashed(this.#conversationId)}/events`;
    const content = [{ type: 'text', text: SECOND_MESSAGE }];
    const body = { role: 'user', content, run: true };
    const sent = await call(to, { method: 'POST', body, headers: { 'x-session-api-key': runtime.key } });
    if (sent.status < 200 || sent.status > 299)
      return {
        status: 'warning',
        detail: `the runtime answered a second message with ${sent.status}`,
        fix: 'if your runtime takes messages elsewhere, nothing is wrong',
      };
    const again = await this.#awaitAgent(runtime, path, () => modelCalls(demo.seen).at(before) ?? null);
    if (again === null)
      throw this.#finding('the agent did not call the LLM again after the pause', 'see the log below');
    return { detail: 'the agent answered a second message' };
  }

  /** Waits for what the agent does; ends early when the runtime says that the conversation has failed. */
  async #awaitAgent<T>(runtime: Runtime, path: string, look: () => T | null): Promise<T | null> {
    let hasFailed = false;
    const found = await until(
      async () => {
        const seen = look();
        if (seen !== null || hasFailed) return { seen };
        const status = textOf((await this.#ofRuntime(runtime, path, '')).json, 'execution_status');
        hasFailed = status === 'error' || status === 'stuck'; // looked at once more: the call may have come meanwhile
        return null;
      },
      this.#patienceMs,
      this.#signal,
    );
    this.#readLog();
    return found?.seen ?? null;
  }

  /** The last error of the conversation, in the words of the runtime. */
  async #complaint(runtime: Runtime, path: string): Promise<string | null> {
    const query = '/events/search?kind=ConversationErrorEvent&limit=1&sort_order=TIMESTAMP_DESC';
    const { json } = await this.#ofRuntime(runtime, path, query);
    const [event] = itemsOf(memberOf(json, 'items'));
    return textOf(event, 'detail')?.slice(0, 500) ?? null;
  }

  #ofRuntime({ url, key }: Runtime, path: string, rest: string): Promise<Received> {
    const to = `${url}${path}/${dashed(this.#conversationId)}${rest}`;
    return call(to, { headers: { 'x-session-api-key': key } }).catch(() => ({
      status: 0,
      json: null,
      text: '',
    }));
  }

  async #sessionRows(): Promise<readonly unknown[]> {
    const { proxy, masterKey } = this.#trial;
    const to = `${proxy.url}/spend/logs?session_id=${dashed(this.#conversationId)}`;
    const { json } = await call(to, { headers: { authorization: `Bearer ${masterKey}` } });
    return itemsOf(json);
  }

  #api(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Received> {
    const { proxy, sessionKey } = this.#trial;
    const headers = { 'x-session-api-key': sessionKey };
    return call(`${proxy.url}/api/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  #finding(message: string, fix: string): Finding {
    return new Finding(message, fix);
  }

  #readLog(): void {
    if (this.#sandboxId === null) return;
    try {
      this.#logSoFar = readFileSync(
        join(this.#trial.dataDir, 'sandboxes', this.#sandboxId, 'sandbox.log'),
        'utf8',
      );
    } catch {
      // a container keeps its own; a sandbox that is removed takes it along
    }
  }
}

function skipped(step: string, detail: string): StepResult {
  return { step, status: 'skipped', detail, fix: null, ms: 0 };
}

function modelCalls(seen: readonly SeenRequest[]): readonly SeenRequest[] {
  return seen.filter(
    ({ method, path }) => method === 'POST' && /\/(completions|responses|messages)\b/.test(path),
  );
}

function bodyOf({ body }: SeenRequest): Readonly<Record<string, unknown>> {
  return JSON.parse(body.toString('utf8')) as Readonly<Record<string, unknown>>;
}

function headerOf({ rawHeaders }: SeenRequest, name: string): string | null {
  const at = rawHeaders.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  return at < 0 ? null : (rawHeaders[at + 1] ?? null);
}

/** The id as calls and rows have it. */
function dashed(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
