// Coding agents of npm: how each is installed, pointed at a proxy and given a task, and which session it states. Each runs in
// a home and a folder of its own and inherits nothing but PATH.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { npm } from '../../support/npm.ts';
import { Missing, type InteropRun } from './suite.ts';
import type { ScriptedCall } from './tool-script.ts';

/** What does not end within this time never will. */
const DEADLINE_MS = 240_000;
/** The task of every agent. */
const NOTE = 'note.txt';
export const CONTENT = 'written by an agent';
const PROMPT = `Write "${CONTENT}" into ${NOTE}, then read it.`;

interface Setup {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Written into its home. */
  readonly files: Readonly<Record<string, string>>;
}

export interface CodingAgent {
  readonly name: string;
  readonly package: string;
  readonly program: string;
  /** Its installation is not complete without the scripts of its packages. */
  readonly hasScripts: boolean;
  readonly model: string;
  /** Its calls at the proxy, as rows name them. */
  readonly callType: string;
  readonly setup: (url: string, key: string) => Setup;
  /** The calls of its own tools that do the task in a folder. */
  readonly calls: (folder: string) => readonly ScriptedCall[];
  /** The session that its rows must state, from what it prints. */
  readonly sessionOf: (out: string) => string | undefined;
}

const GEMINI_SESSION = 'gemini-cli-run';
const SHELL = 'exec_command';

const claudeCode: CodingAgent = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code@2.1.330',
  program: 'claude',
  hasScripts: true,
  model: 'claude-sonnet-4-5',
  callType: 'anthropic_messages',
  setup: (url, key) => ({
    args: ['-p', PROMPT, '--permission-mode', 'acceptEdits', '--output-format', 'json'],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: 'claude-sonnet-4-5',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-sonnet-4-5',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
    files: {},
  }),
  calls: (folder) => [
    { tool: 'Write', arguments: { file_path: join(folder, NOTE), content: `${CONTENT}\n` } },
    { tool: 'Read', arguments: { file_path: join(folder, NOTE) } },
  ],
  sessionOf: (out) => /"session_id":"([^"]+)"/.exec(out)?.[1],
};

const codex: CodingAgent = {
  name: 'Codex CLI',
  package: '@openai/codex@0.169.0',
  program: 'codex',
  hasScripts: false,
  model: 'gpt-5',
  callType: 'aresponses',
  setup: (url, key) => ({
    // Its sandbox needs Landlock, which containers often lack; the script says what it runs.
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json', PROMPT],
    env: { PROXY_KEY: key },
    files: {
      '.codex/config.toml': `model = "gpt-5"
model_provider = "proxy"
check_for_update_on_startup = false

[model_providers.proxy]
name = "proxy"
base_url = "${url}/v1"
env_key = "PROXY_KEY"
wire_api = "responses"

[analytics]
enabled = false
`,
    },
  }),
  calls: () => [
    { tool: SHELL, arguments: { cmd: `echo '${CONTENT}' > ${NOTE}` } },
    { tool: SHELL, arguments: { cmd: `cat ${NOTE}` } },
  ],
  sessionOf: (out) => /"thread_id":"([^"]+)"/.exec(out)?.[1],
};

const geminiCli: CodingAgent = {
  name: 'Gemini CLI',
  package: '@google/gemini-cli@0.61.0',
  program: 'gemini',
  hasScripts: false,
  model: 'gemini-2.5-pro',
  callType: 'agenerate_content_stream',
  setup: (url, key) => ({
    args: ['-p', PROMPT, '-m', 'gemini-2.5-pro', '--yolo', '--skip-trust', '--output-format', 'json'],
    env: {
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
      GEMINI_CLI_CUSTOM_HEADERS: `x-litellm-session-id: ${GEMINI_SESSION}`,
    },
    files: {
      // Without a stated type 0.61 chooses `gateway` for the base URL, and then refuses it: "Invalid auth method selected".
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
      }),
    },
  }),
  calls: (folder) => [
    { tool: 'write_file', arguments: { file_path: join(folder, NOTE), content: `${CONTENT}\n` } },
    { tool: 'read_file', arguments: { file_path: join(folder, NOTE) } },
  ],
  sessionOf: () => GEMINI_SESSION,
};

export const CODING_AGENTS: readonly CodingAgent[] = [claudeCode, codex, geminiCli];

/** @returns the folder of its installation. @throws Missing */
export function installAgent(run: InteropRun, agent: CodingAgent): string {
  const folder = run.folder();
  console.error(`installing ${agent.package} into ${folder}`);
  writeFileSync(join(folder, 'package.json'), '{}');
  const scripts = agent.hasScripts ? [] : ['--ignore-scripts'];
  const { status, err } = npm(folder, 'npm', 'install', ...scripts, agent.package);
  if (status !== 0) throw new Missing(`${agent.package} cannot be installed: ${err.trim().slice(-300)}`);
  return folder;
}

export interface AgentEnded {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** The content of the note; null = it wrote none. */
  readonly note: string | null;
}

/** Runs an agent to its end in `folder`. */
export async function runAgent(
  run: InteropRun,
  agent: CodingAgent,
  where: { readonly installed: string; readonly folder: string; readonly url: string; readonly key: string },
): Promise<AgentEnded> {
  const home = run.folder();
  const { args, env, files } = agent.setup(where.url, where.key);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), content);
  }
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;
  const child = spawn(join(where.installed, 'node_modules', '.bin', agent.program), args, {
    cwd: where.folder,
    env: { PATH: path, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  run.teardown(() => child.kill('SIGKILL'));
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, out, err, note: noteIn(where.folder) };
}

function noteIn(folder: string): string | null {
  try {
    return readFileSync(join(folder, NOTE), 'utf8');
  } catch {
    return null;
  }
}
