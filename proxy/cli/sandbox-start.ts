// The first step of `throughline sandbox-check`: starts a conversation, follows it until its sandbox is ready, and finds
// out why where it is not.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hintFor, lastLines } from './sandbox-hints.ts';
import { MODEL, type Trial } from './sandbox-trial.ts';
import { itemsOf, memberOf, probe, textOf, until } from './sandbox-trial-client.ts';

/** Something is wrong with the sandbox: the message says what. */
export class Finding extends Error {
  override readonly name = 'Finding';
  /** What to change. */
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}

/** A sandbox that is ready, and the conversation in it. */
export interface Runtime {
  readonly sandboxId: string;
  /** With dashes, as calls and rows have it. */
  readonly conversationId: string;
  readonly url: string;
  readonly key: string;
  readonly healthyMs: number;
  readonly readyMs: number;
}

/** Every row of the conversation carries it. */
export const TAG = ['sandboxcheck', '1'] as const;
/** Where runtimes answer, when a spec names the wrong path. */
const USUAL_HEALTH_PATHS = ['/alive', '/health', '/healthz', '/ready', '/'] as const;
const LOG_LINES = 12;

export class SandboxStart {
  readonly #trial: Trial;
  readonly #patienceMs: number;
  readonly #signal: AbortSignal;
  #sandboxId: string | null = null;
  /** Kept here, because a sandbox that could not start is removed with its log. */
  #log = '';

  /** @param patienceMs for the conversation, beyond the start timeout of the configuration */
  constructor(trial: Trial, patienceMs: number, signal: AbortSignal) {
    this.#trial = trial;
    this.#patienceMs = patienceMs;
    this.#signal = signal;
  }

  /** The last lines of the sandbox's log. */
  get log(): readonly string[] {
    this.#readLog();
    return lastLines(this.#log, LOG_LINES);
  }

  /** @throws Finding */
  async run(): Promise<Runtime> {
    const startedAt = performance.now();
    const content = [{ type: 'text', text: 'Run the command of the check.' }];
    const asked = await this.#trial.api('POST', '/app-conversations', {
      llm_model: MODEL,
      title: 'sandbox-check',
      tags: Object.fromEntries([TAG]),
      initial_message: { role: 'user', content, run: true },
    });
    const taskId = textOf(asked.json, 'id') ?? '';
    let healthyMs: number | null = null;
    const limitMs = this.#trial.settings.startTimeoutMs + this.#patienceMs;
    const task = await until(
      async () => {
        const { json } = await this.#trial.api('GET', `/app-conversations/start-tasks?ids=${taskId}`);
        const [now] = itemsOf(json);
        this.#sandboxId = textOf(now, 'sandbox_id') ?? this.#sandboxId;
        this.#readLog();
        const status = textOf(now, 'status');
        if (status === 'WAITING_FOR_SANDBOX') await this.#checkHealthPath(textOf(now, 'agent_server_url'));
        if (status === 'STARTING_CONVERSATION') healthyMs ??= performance.now() - startedAt;
        return status === 'READY' || status === 'ERROR' ? now : null;
      },
      limitMs,
      this.#signal,
    );
    if (task === null) throw new Finding(`it was not ready within ${limitMs / 1000} s`, 'see its log');
    if (textOf(task, 'status') === 'ERROR')
      throw this.#notStarted(textOf(task, 'detail') ?? 'it could not be started');
    const readyMs = performance.now() - startedAt;
    const place = await this.#place();
    const conversationId = dashed(textOf(task, 'app_conversation_id') ?? '');
    return { ...place, conversationId, healthyMs: healthyMs ?? readyMs, readyMs };
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
        throw new Finding(
          `its runtime answers GET ${healthPath} with ${status}, and GET ${path} with ${there}`,
          `set health_path: ${path}`,
        );
    }
  }

  #notStarted(detail: string): Finding {
    const hint = hintFor(this.#log);
    if (detail.includes('was not found'))
      return new Finding(detail, 'write the whole path of the program into command, or install it');
    if (detail.includes('is not in the sandbox')) return new Finding(detail, 'add the folder that is named');
    if (detail.includes('was not ready within')) return new Finding(detail, hint ?? this.#slowFix());
    if (detail.includes('runtime refused the conversation'))
      return new Finding(
        detail,
        `conversations_path (${String(this.#trial.spec.conversationsPath)}) must take conversations of an agent ` +
          'server: check the path and the version of the package',
      );
    return new Finding(detail, hint ?? 'its log says what it was doing; try the command by hand');
  }

  #slowFix(): string {
    const { healthPath, command } = this.#trial.spec;
    if (this.#trial.settings.driver === 'process' && !command.some((part) => part.includes('{port}')))
      return "write '{port}' where the command takes its port: each sandbox gets one of its own";
    const now = this.#trial.settings.startTimeoutMs / 1000;
    return `raise platform.sandbox.start_timeout_seconds (now ${now}), or correct health_path (${healthPath})`;
  }

  async #place(): Promise<Pick<Runtime, 'sandboxId' | 'url' | 'key'>> {
    const sandboxId = this.#sandboxId ?? '';
    const { json } = await this.#trial.api('GET', `/sandboxes?id=${sandboxId}`);
    const [sandbox] = itemsOf(json);
    const [exposed] = itemsOf(memberOf(sandbox, 'exposed_urls'));
    const [url, key] = [textOf(exposed, 'url'), textOf(sandbox, 'session_api_key')];
    if (url !== null && key !== null) return { sandboxId, url, key };
    const detail = textOf(sandbox, 'status_detail') ?? 'it ended';
    throw new Finding(
      `the sandbox is ${textOf(sandbox, 'status') ?? 'gone'}: ${detail}`,
      hintFor(this.#log) ?? 'its log says why',
    );
  }

  #readLog(): void {
    if (this.#sandboxId === null) return;
    try {
      const path = join(this.#trial.dataDir, 'sandboxes', this.#sandboxId, 'sandbox.log');
      this.#log = readFileSync(path, 'utf8');
    } catch {
      // a container keeps its own; a sandbox that is removed takes it along
    }
  }
}

function dashed(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
