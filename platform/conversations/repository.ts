// The repository that a conversation works in: cloned by the agent server, in the sandbox, before the conversation begins.
// Nothing of a request becomes a part of a command but names of plain characters.
import { invalidValue, refuse } from '../api/refusal.ts';
import type { AgentServer } from '../runtime/agent-server.ts';

/** Where each provider has its public repositories. Tokens of git providers are not kept here. */
const HOSTS: Readonly<Record<string, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
};
/** `owner/name`, at GitLab also with groups between. */
const NAME = /^[A-Za-z0-9_][\w.-]*(\/[A-Za-z0-9_][\w.-]*){1,8}$/;
/** What `git check-ref-format` allows, without the characters that a shell or an option could be made of. */
const BRANCH = /^[A-Za-z0-9_][\w.+#@-]*(\/[\w.+#@-]+)*$/;
const MAX_NAME = 200;
const REASON_CHARS = 300;

export interface Repository {
  readonly url: string;
  /** null = the default branch. */
  readonly branch: string | null;
  /** Below the working directory of the sandbox. */
  readonly folder: string;
}

interface Selection {
  readonly selected_repository: string | null;
  readonly selected_branch: string | null;
  readonly git_provider: string | null;
}

/** null = none is selected. @throws Refusal 422 for one that cannot be cloned */
export function repositoryOf({
  selected_repository: name,
  selected_branch: branch,
  git_provider: provider,
}: Selection): Repository | null {
  if (name === null) {
    if (branch !== null) throw invalidValue(['body', 'selected_branch'], 'it needs a selected_repository');
    return null;
  }
  const host = HOSTS[provider ?? 'github'];
  if (host === undefined)
    throw invalidValue(
      ['body', 'git_provider'],
      `only public repositories of ${Object.keys(HOSTS).join(', ')} are cloned here`,
    );
  if (name.length > MAX_NAME || !NAME.test(name) || name.includes('..'))
    throw invalidValue(['body', 'selected_repository'], 'it must read owner/name');
  if (branch !== null && (branch.length > MAX_NAME || !BRANCH.test(branch) || branch.includes('..')))
    throw invalidValue(['body', 'selected_branch'], 'it is no name of a branch or tag');
  const path = name.replace(/\.git$/, '');
  return { url: `${host}/${path}.git`, branch, folder: path.split('/').at(-1) ?? path };
}

/** Clones it where the sandbox has none in that folder. @throws Refusal 502 with what git said */
export async function cloneRepository(
  server: AgentServer,
  { url, branch, folder }: Repository,
  workingDir: string,
): Promise<void> {
  const option = branch === null ? '' : ` --branch '${branch}'`;
  const command =
    `if [ -d '${folder}/.git' ]; then git -C '${folder}' remote get-url origin | grep -qxF '${url}'; ` +
    `else GIT_TERMINAL_PROMPT=0 git clone --quiet${option} -- '${url}' '${folder}'; fi`;
  const { exitCode, said } = await server.run(command, workingDir);
  if (exitCode === 0) return;
  const why = said === '' ? 'the folder holds another repository' : said.slice(0, REASON_CHARS);
  throw refuse(502, `the repository could not be cloned in the sandbox: ${why}`);
}
