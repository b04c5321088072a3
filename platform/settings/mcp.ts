// Rules for the MCP servers of V0 that no schema states: URLs that can be called, names and commands that can be run. Pure.
import { invalidValue } from '../api/refusal.ts';
import { isTree, own } from './secrets.ts';

const NAME = /^[a-zA-Z0-9_-]+$/;
const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'ws:', 'wss:']);

/** @param config `mcp_config` as the schema took it. @throws Refusal with 422 at the first offence */
export function checkMcp(config: unknown): void {
  if (!isTree(config)) return;
  for (const list of ['sse_servers', 'shttp_servers']) {
    each(config, list, (server, index) => {
      const why = urlTrouble(String(server['url']));
      if (why !== null) throw invalidValue(['body', 'mcp_config', list, index, 'url'], why);
    });
  }
  each(config, 'stdio_servers', (server, index) => {
    const at = (member: string): (string | number)[] => [
      'body',
      'mcp_config',
      'stdio_servers',
      index,
      member,
    ];
    const name = String(server['name']).trim();
    if (name === '') throw invalidValue(at('name'), 'Server name cannot be empty');
    if (!NAME.test(name))
      throw invalidValue(
        at('name'),
        'Server name can only contain letters, numbers, hyphens, and underscores',
      );
    const command = String(server['command']).trim();
    if (command === '') throw invalidValue(at('command'), 'Command cannot be empty');
    if (/\s/.test(command)) {
      const text =
        'Command should be a single executable without spaces (use arguments field for parameters)';
      throw invalidValue(at('command'), text);
    }
  });
}

function each(
  config: Readonly<Record<string, unknown>>,
  list: string,
  look: (server: Readonly<Record<string, unknown>>, index: number) => void,
): void {
  const servers = own(config, list);
  if (Array.isArray(servers))
    servers.forEach((server: unknown, index) => isTree(server) && look(server, index));
}

export function urlTrouble(raw: string): string | null {
  const text = raw.trim();
  if (text === '') return 'URL cannot be empty';
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return 'URL must include a scheme (http:// or https://)';
  if (!SCHEMES.has(`${scheme}:`)) return 'URL scheme must be http, https, ws, or wss';
  return URL.canParse(text) ? null : 'URL must include a valid domain/host';
}
