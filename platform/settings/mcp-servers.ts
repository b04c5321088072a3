// MCP servers in the agent's own form: a map of servers by name, each with `command` (stdio) or `url` (SSE, streamable HTTP).
// Two other forms are taken as well: V0's three lists, and `{"mcpServers": map}` with the spellings of MCP clients. Pure.
import { invalidValue, validationFailed } from '../api/refusal.ts';
import { urlTrouble } from './mcp.ts';
import { mergePatch } from './merge-patch.ts';
import { isTree, own } from './secrets.ts';

type Tree = Readonly<Record<string, unknown>>;
type Servers = Readonly<Record<string, Tree>>;
type Loc = readonly (string | number)[];

const WRAPPER = 'mcpServers';
const LISTS = ['sse_servers', 'stdio_servers', 'shttp_servers'] as const;
/** Other spellings of transports, as MCP clients write them. */
const TRANSPORTS: Readonly<Record<string, string>> = {
  shttp: 'http',
  streamable_http: 'streamable-http',
  streamableHttp: 'streamable-http',
};

/** The servers of any form. */
export function serversOf(config: unknown): Servers {
  if (!isTree(config)) return {};
  if (isLists(config)) return ofLists(config);
  const map = own(config, WRAPPER);
  if (isWrapper(config)) return isTree(map) ? (patchOf(map) as Servers) : {};
  return patchOf(config) as Servers;
}

/** Servers, or changes of them, in the agent's spellings. */
function patchOf(servers: Tree): Tree {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, isTree(server) ? native(server) : server]),
  );
}

/**
 * A stored `mcp_config` changed by a diff of the same member (RFC 7386), in the form of the diff. An empty `mcpServers`
 * removes all servers: that is what clients mean which write the whole map. undefined = there are none any more.
 * @throws Refusal 422 for what is no object
 */
export function changedMcp(old: unknown, diff: unknown, loc: Loc): unknown {
  if (diff === null) return undefined;
  if (!isTree(diff)) throw noObject(loc);
  if (isLists(diff)) return ofLists(diff);
  if (!isWrapper(diff))
    return Object.keys(diff).length === 0 ? (old ?? {}) : mergePatch(serversOf(old), patchOf(diff));
  const servers = diff[WRAPPER];
  if (servers !== null && !isTree(servers)) throw noObject([...loc, WRAPPER]);
  if (servers === null || Object.keys(servers).length === 0) return { [WRAPPER]: {} };
  return { [WRAPPER]: mergePatch(serversOf(old), patchOf(servers)) };
}

/** The stored servers in the form of a diff, so that masks in it find what they stand for. */
export function inFormOf(diff: unknown, old: unknown): unknown {
  return isTree(diff) && isWrapper(diff) ? { [WRAPPER]: serversOf(old) } : serversOf(old);
}

/** What the schema of a server does not state. @throws Refusal 422 at the first offence */
export function checkServers(servers: Servers, loc: Loc): void {
  for (const [name, server] of Object.entries(servers)) {
    // The schema says so of what is no object.
    if (!isTree(server)) continue;
    const at = [...loc, name.slice(0, 200)];
    const { command, url } = server;
    if (name.trim() === '') throw invalidValue(at, 'a server needs a name');
    if (typeof command !== 'string' && typeof url !== 'string')
      throw invalidValue(at, 'a server needs `command` (stdio) or `url` (SSE, streamable HTTP)');
    if (typeof command === 'string' && typeof url === 'string')
      throw invalidValue(at, 'a server has `command` or `url`, not both');
    const { transport } = server;
    const wanted = transport === 'stdio' ? 'command' : 'url';
    if (typeof transport === 'string' && typeof server[wanted] !== 'string')
      throw invalidValue(at, `the transport ${transport} needs \`${wanted}\``);
    const why = typeof url === 'string' ? urlTrouble(url) : null;
    if (why !== null) throw invalidValue([...at, 'url'], why);
    if (typeof url === 'string' && isWebSocket(url))
      throw invalidValue([...at, 'url'], 'the agent reaches MCP servers by http or https');
    const headers = own(server, 'headers');
    const authorized = isTree(headers) && Object.keys(headers).some((one) => /^authorization$/i.test(one));
    if (isTree(own(server, 'auth')) && authorized)
      throw invalidValue(at, 'a server has `auth` or the header Authorization, not both');
  }
}

export const isWebSocket = (url: string): boolean => /^\s*wss?:/i.test(url);

const noObject = (loc: Loc): Error =>
  validationFailed([{ loc, msg: 'Input should be a valid dictionary', type: 'dict_type' }]);

const isWrapper = (config: Tree): boolean => {
  const map = own(config, WRAPPER);
  // A server could have this name; it would have a command or a url.
  return (
    map !== undefined &&
    !(isTree(map) && (typeof map['command'] === 'string' || typeof map['url'] === 'string'))
  );
};

const isLists = (config: Tree): boolean => LISTS.some((list) => Array.isArray(own(config, list)));

function native(server: Tree): Tree {
  const { type, api_key: key, auth, transport: stated, ...rest } = server;
  const transport = stated ?? type;
  const credential = credentialOf(auth, key);
  return {
    ...rest,
    ...(transport === undefined ? {} : { transport: transportOf(transport) }),
    ...(credential === undefined ? {} : { auth: credential }),
  };
}

const transportOf = (stated: unknown): unknown =>
  typeof stated === 'string' ? (own(TRANSPORTS, stated) ?? stated) : stated;

function credentialOf(auth: unknown, key: unknown): unknown {
  if (auth === 'oauth') return { strategy: 'oauth2' };
  if (typeof auth === 'string' && auth !== '') return { strategy: 'bearer', value: auth };
  if (auth !== undefined) return auth;
  if (key === null) return null;
  return typeof key === 'string' && key !== '' ? { strategy: 'api_key', value: key } : undefined;
}

function ofLists(config: Tree): Servers {
  const servers = new Map<string, Tree>();
  const add = (name: string, server: Tree): void => {
    let free = name;
    for (let n = 1; servers.has(free); n += 1) free = `${name}_${n}`;
    servers.set(free, server);
  };
  for (const { name, command, args, env } of listed(config, 'stdio_servers'))
    add(String(name).trim(), {
      transport: 'stdio',
      command: typeof command === 'string' ? command.trim() : command,
      ...(args === undefined ? {} : { args }),
      ...(env === undefined ? {} : { env }),
    });
  for (const [list, name, transport] of [
    ['sse_servers', 'sse', 'sse'],
    ['shttp_servers', 'shttp', 'http'],
  ] as const)
    for (const { url, api_key: key } of listed(config, list))
      add(name, {
        transport,
        url: typeof url === 'string' ? url.trim() : url,
        ...(typeof key === 'string' && key !== '' ? { auth: { strategy: 'bearer', value: key } } : {}),
      });
  return Object.fromEntries(servers);
}

function listed(config: Tree, list: string): readonly Tree[] {
  const servers = own(config, list);
  return Array.isArray(servers) ? servers.filter(isTree) : [];
}
