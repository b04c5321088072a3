// Who may call what: keys of agents, addresses, end users, metrics -> AccessSettings. Pure; reports problems to the
// diagnostics.
import { isIP } from 'node:net';
import type { AccessSettings, AddressRange, AdminSettings, InferenceKey } from '../access-settings.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import type { Secret } from '../secret.ts';
import type { PlatformSettings } from '../snapshot.ts';
import type { Path, Tree } from '../tree.ts';
import { keyAt } from './address.ts';
import { DistinctKeys } from './distinct-keys.ts';
import { fileKeysOf, fileTeamsOf } from './file-objects.ts';

type General = GatewayFile['general_settings'];

const KEYS = ['general_settings', 'inference_keys'];

export function accessOf(
  file: GatewayFile,
  tree: Tree,
  masterKey: Secret | null,
  platform: PlatformSettings | null,
  diagnostics: Diagnostics,
): AccessSettings {
  const { general_settings: general, litellm_settings: litellm } = file;
  const inferenceKeys = inferenceKeysOf(general, masterKey, platform, diagnostics);
  const sources = { file, tree, masterKey, inferenceKeys, diagnostics };
  return {
    inferenceKeys,
    keys: fileKeysOf(sources),
    teams: fileTeamsOf(sources),
    hidesMasterKey: general.disable_adding_master_key_hash_to_db,
    metricsNeedKey: litellm.require_auth_for_metrics_endpoint ?? null,
    allowedAddresses:
      general.allowed_ips === undefined ? null : rangesAt(general.allowed_ips, 'allowed_ips', diagnostics),
    trustedProxies: trustedProxiesOf(general, diagnostics),
    requiresEndUser: general.enforce_user_param,
    refusesClientTags: general.reject_clientside_metadata_tags,
    blockedEndUsers: new Set(litellm.blocked_user_list),
    allowsChaos: general.allow_chaos ?? null,
    recordsEndUsers: !litellm.disable_end_user_cost_tracking,
  };
}

/** The listener of metrics and administration; null = they share the proxy's port. */
export function adminOf(
  { admin_port: port, admin_host: host }: General,
  diagnostics: Diagnostics,
): AdminSettings | null {
  if (port !== undefined) return { port, host: host ?? null };
  if (host !== undefined && diagnostics.isSound(['general_settings', 'admin_port']))
    diagnostics.error(
      ['general_settings', 'admin_host'],
      'has no effect without a port',
      'add admin_port, for example 4002, or remove admin_host',
    );
  return null;
}

function inferenceKeysOf(
  { inference_keys: entries }: General,
  masterKey: Secret | null,
  platform: PlatformSettings | null,
  diagnostics: Diagnostics,
): InferenceKey[] {
  if (entries.length > 0 && masterKey === null && diagnostics.isSound(['general_settings', 'master_key']))
    diagnostics.error(
      KEYS,
      'protects nothing without a master key: everybody may call every route',
      'set general_settings.master_key, or PROXY_MASTER_KEY',
      'key',
    );
  const distinct = new DistinctKeys(masterKey, diagnostics);
  for (const { key } of platform?.users ?? [])
    distinct.take(key, 'this key opens the platform interface (platform.session_api_key)');
  return entries.flatMap((entry, index) => {
    const [text, name] = typeof entry === 'string' ? [entry, null] : [entry.key, entry.name ?? null];
    const at: Path = typeof entry === 'string' ? [...KEYS, index] : [...KEYS, index, 'key'];
    const key = keyAt(text, at, diagnostics);
    if (key === null) return [];
    distinct.add(key.sha256(), at);
    if (name !== null) distinct.addName(name, [...KEYS, index, 'name']);
    return [{ key, name }];
  });
}

function trustedProxiesOf(general: General, diagnostics: Diagnostics): readonly AddressRange[] {
  const { use_x_forwarded_for: isUsed, trusted_proxies: written } = general;
  const ranges = rangesAt(written, 'trusted_proxies', diagnostics);
  const isSound = (name: string): boolean => diagnostics.isSound(['general_settings', name]);
  if (isUsed && written.length === 0 && isSound('trusted_proxies'))
    diagnostics.error(
      ['general_settings', 'use_x_forwarded_for'],
      'names no proxy to trust: every caller could state any address',
      'list the addresses of the load balancers in trusted_proxies',
    );
  if (!isUsed && written.length > 0 && isSound('use_x_forwarded_for'))
    diagnostics.warn(
      ['general_settings', 'trusted_proxies'],
      'has no effect while use_x_forwarded_for is off',
      'set use_x_forwarded_for: true, or remove it',
      'key',
    );
  return isUsed ? ranges : [];
}

function rangesAt(
  texts: readonly string[],
  name: 'allowed_ips' | 'trusted_proxies',
  diagnostics: Diagnostics,
): AddressRange[] {
  return texts.flatMap((text, index) => {
    const range = rangeOf(text.trim());
    if (range !== null) return [range];
    diagnostics.error(
      ['general_settings', name, index],
      'is neither an address nor a network',
      'write it as 10.0.0.1, 10.0.0.0/8 or fd00::/8',
    );
    return [];
  });
}

/** `10.0.0.0/8`, `10.0.0.1`, `fd00::/8`; null for anything else. */
function rangeOf(text: string): AddressRange | null {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes('%')) return null;
  const most = version === 4 ? 32 : 128;
  const bits = prefix === undefined ? most : Number(prefix);
  if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || bits > most)) return null;
  return { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' };
}
