// Operations that the agent server of a conversation carries out: messages, files, skills, hooks, git, the export. Each
// says here which path of the agent server (1.58) it is, and in which shape the platform answers it.
import { posix } from 'node:path';
import { invalidValue, refuse } from '../api/refusal.ts';
import type { Handler, OperationCall } from '../api/router.ts';
import { hexOf } from '../ids.ts';
import { isTree } from '../settings/secrets.ts';
import { refusalOf, type Runtime, type Runtimes } from './runtimes.ts';

/** A file is shown as text; an editor in a browser holds no more. */
const FILE_BYTES = 4 * 1024 * 1024;
const ARCHIVE_BYTES = 64 * 1024 * 1024;
/** Each is held in memory as a whole. */
const MAX_ARCHIVES = 2;
/** As many names as a page can show, relative to where it runs; what packages and git keep is nobody's work. */
const FIND = `find . \\( -name .git -o -name node_modules -o -name .venv -o -name __pycache__ \\) -prune -o -type f -printf '%P\\n' | head -n 2000`;
const FIND_S = 20;
/** Where the platform's own images have their working directory, and its clients look. */
const PLATFORM_DIR = '/workspace/project';

/** The handlers, by operation id. */
export function runtimeApi(runtimes: Runtimes): Record<string, Handler> {
  const runtimeOf = ({ userId, path }: OperationCall): Promise<Runtime> =>
    runtimes.of(userId, hexOf(path['conversation_id'] ?? '') ?? '');
  let archives = 0;
  return {
    sendMessage: async (call) => {
      const runtime = await runtimeOf(call);
      const { role = 'user', content, run = true } = call.body as MessageBody;
      const path = `${runtime.conversationPath}/events`;
      await runtime.json({ method: 'POST', path, body: { role, content, run } });
      return { body: { success: true, sandbox_status: 'RUNNING', message: null } };
    },
    readFile: async (call) => {
      const runtime = await runtimeOf(call);
      const path = pathIn(runtime, call, 'file_path');
      const query = { path };
      const response = await runtime.ask({
        method: 'GET',
        path: '/file/download',
        query,
        maxBytes: FILE_BYTES,
      });
      if (response.status === 200) return { body: response.bytes.toString('utf8') };
      if (response.status === 404) return { body: '' }; // as the platform answers for a file that is not there
      throw refusalOf(response);
    },
    exportConversation: async (call) => {
      const runtime = await runtimeOf(call);
      if (archives >= MAX_ARCHIVES) throw refuse(503, 'Other exports are under way; try again in a moment');
      archives += 1;
      try {
        const { id } = runtime.conversation;
        const path = `/file/download-trajectory/${id}`;
        const response = await runtime.ask({ method: 'GET', path, maxBytes: ARCHIVE_BYTES });
        if (response.status !== 200) throw refusalOf(response);
        const headers = ['content-disposition', `attachment; filename="conversation_${id}.zip"`];
        return { bytes: response.bytes, contentType: 'application/zip', headers };
      } finally {
        archives -= 1;
      }
    },
    listConversationSkills: async (call) => {
      const runtime = await runtimeOf(call);
      // Only what is there: the public ones would be fetched from the Internet, and no conversation begins with them here.
      const body = { load_public: false, load_org: false, project_dir: runtime.projectDir };
      const found = await runtime.json({ method: 'POST', path: '/skills', body });
      const skills = isTree(found) ? found['skills'] : null;
      return { body: { skills: Array.isArray(skills) ? (skills as unknown) : [] } };
    },
    listConversationHooks: async (call) => {
      const runtime = await runtimeOf(call);
      const body = { project_dir: runtime.projectDir };
      const found = await runtime.json({ method: 'POST', path: '/hooks', body });
      return { body: { hooks: isTree(found) ? hooksOf(found['hook_config']) : [] } };
    },
    listConversationFiles: async (call) => {
      const runtime = await runtimeOf(call);
      const body = { command: FIND, cwd: pathIn(runtime, call, 'path'), timeout: FIND_S };
      const found = await runtime.json({ method: 'POST', path: '/bash/execute_bash_command', body });
      const text = isTree(found) ? found['stdout'] : null;
      return { body: typeof text === 'string' ? text.split('\n').filter((name) => name !== '') : [] };
    },
    listGitChanges: async (call) => ({ body: await git(await runtimeOf(call), call, '/git/changes') }),
    readGitDiff: async (call) => ({ body: await git(await runtimeOf(call), call, '/git/diff') }),
  };
}

interface MessageBody {
  readonly role?: string;
  readonly content: unknown;
  readonly run?: boolean;
}

function git(runtime: Runtime, call: OperationCall, path: string): Promise<unknown> {
  const { ref } = call.query;
  const query = { path: pathIn(runtime, call, 'path'), ref: typeof ref === 'string' ? ref : null };
  return runtime.json({ method: 'GET', path, query });
}

/** A path as the agent server sees it: relative ones begin in the working directory. */
function pathIn({ workingDir }: Runtime, { query }: OperationCall, name: string): string {
  const text = query[name];
  if (typeof text !== 'string' || text === '') throw invalidValue(['query', name], 'a path is needed');
  const isPlatforms = text === PLATFORM_DIR || text.startsWith(`${PLATFORM_DIR}/`);
  if (isPlatforms && !workingDir.startsWith('/workspace'))
    return posix.join(workingDir, text.slice(PLATFORM_DIR.length));
  return posix.resolve(workingDir, text);
}

/** Hooks by the event that they belong to; events without hooks are left out. */
function hooksOf(config: unknown): unknown[] {
  if (!isTree(config)) return [];
  return Object.entries(config)
    .filter(([, matchers]) => Array.isArray(matchers) && matchers.length > 0)
    .map(([type, matchers]) => ({ event_type: type, matchers }));
}
