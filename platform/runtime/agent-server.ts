// The agent server in a sandbox, as far as a conversation's life goes: what it says of conversations, title and tags, their
// end, and a command. Bounded in time; nothing here is tried again.
import type { Secret } from '../../config/secret.ts';
import { refuse } from '../api/refusal.ts';
import { dashed } from '../ids.ts';
import type { SandboxPlace } from '../sandboxes/driver.ts';
import { sendRequest, type RuntimeResponse } from '../sandboxes/http-request.ts';
import { conversationsPathOf } from '../sandboxes/spec-choice.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';
import type { Tags } from '../conversations/conversation.ts';

/** Somebody waits for a list meanwhile. */
const READ_MS = 1_500;
const CHANGE_MS = 10_000;
/** Before it deletes one it reports the last events, again and again if nobody takes them: 15 s with its usual settings. */
const REMOVE_MS = 25_000;
/** A large repository over a slow line. */
const COMMAND_SECONDS = 600;
/** As many ids as it takes at once. */
export const MAX_IDS = 99;

export class AgentServer {
  readonly #place: SandboxPlace;
  readonly #key: Secret;
  /** Where it takes conversations. */
  readonly #path: string;

  constructor(place: SandboxPlace, key: Secret, path: string) {
    this.#place = place;
    this.#key = key;
    this.#path = path;
  }

  /** As it describes them, in the order of the ids; null = does not answer. */
  async get(ids: readonly string[]): Promise<readonly unknown[] | null> {
    const query = ids.map((id) => `ids=${dashed(id)}`).join('&');
    const response = await this.#send('GET', `${this.#path}?${query}`, READ_MS);
    if (response?.status !== 200) return null;
    try {
      const list: unknown = JSON.parse(response.text);
      return Array.isArray(list) ? list : null;
    } catch {
      return null;
    }
  }

  /** Whether it has taken them. */
  async update(id: string, title: string | null, tags: Tags): Promise<boolean> {
    const body = { ...(title === null ? {} : { title }), tags };
    const response = await this.#send('PATCH', `${this.#path}/${dashed(id)}`, CHANGE_MS, body);
    return response !== null && response.status < 300;
  }

  /** Ends what it is doing first: it deletes nothing before the command that runs has ended. null = does not answer. */
  async remove(id: string): Promise<'removed' | 'unknown' | null> {
    const path = `${this.#path}/${dashed(id)}`;
    await this.#send('POST', `${path}/interrupt`, CHANGE_MS);
    const response = await this.#send('DELETE', path, REMOVE_MS);
    if (response === null || (response.status > 299 && response.status !== 404)) return null;
    return response.status === 404 ? 'unknown' : 'removed';
  }

  /** Runs a command of a shell to its end. @throws Refusal 502 when it runs none */
  async run(command: string, cwd: string): Promise<{ readonly exitCode: number; readonly said: string }> {
    const path = this.#path.replace(/\/conversations$/, '/bash/execute_bash_command');
    const body = { command, cwd, timeout: COMMAND_SECONDS };
    const response = await this.#send('POST', path, COMMAND_SECONDS * 1000 + CHANGE_MS, body);
    if (response?.status !== 200) throw refuse(502, 'the agent server in the sandbox runs no command');
    const output = JSON.parse(response.text) as { exit_code?: unknown; stderr?: unknown; stdout?: unknown };
    const said = [output.stderr, output.stdout].find((text) => typeof text === 'string' && text !== '');
    const exitCode = typeof output.exit_code === 'number' ? output.exit_code : -1;
    return { exitCode, said: typeof said === 'string' ? said.trim() : '' };
  }

  async #send(
    method: string,
    path: string,
    timeoutMs: number,
    body?: unknown,
  ): Promise<RuntimeResponse | null> {
    const headers = { 'x-session-api-key': this.#key.reveal() };
    return sendRequest({ to: this.#place.url, method, path, body, headers, timeoutMs }).catch(() => null);
  }
}

/** That of a sandbox of this server; null = it does not run here, or takes no conversations. */
export function agentServerOf(sandboxes: Sandboxes, sandbox: Sandbox | null | undefined): AgentServer | null {
  if (sandbox?.status !== 'RUNNING' || sandbox.place === null) return null;
  const path = conversationsPathOf(sandboxes.specs, sandbox.specId);
  return path === null ? null : new AgentServer(sandbox.place, sandbox.key, path);
}
