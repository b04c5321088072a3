// The `platform` section -> PlatformSettings: keys as secrets, seconds as milliseconds, specs that can run. Pure; reports
// problems to the diagnostics.
import type { Diagnostics } from '../diagnostics.ts';
import type { PlatformSection, SandboxSpecEntry } from '../gateway-file.ts';
import { Secret } from '../secret.ts';
import type { PlatformSettings, SandboxSpec, Snapshot } from '../snapshot.ts';
import type { Path } from '../tree.ts';
import { keyAt } from './address.ts';
import { checkKubernetesSpec, kubernetesOf } from './kubernetes.ts';

const SECRET_KEY_BYTES = 32;
const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** The platform's settings, or null when the section is missing or broken; a broken one has issues. */
export function platformOf(
  section: PlatformSection | undefined,
  workers: Snapshot['workers'],
  diagnostics: Diagnostics,
): PlatformSettings | null {
  if (section === undefined || !diagnostics.isSound(['platform'])) return null;
  const counted = ['general_settings', 'workers'];
  if (workers !== 1 && diagnostics.isSound(counted))
    diagnostics.error(
      counted,
      'the platform interface needs a single process, which alone knows its sandboxes and keys',
      'set workers: 1, or remove the platform section',
    );
  if (section.host !== undefined && section.port === undefined)
    diagnostics.error(
      ['platform', 'host'],
      'has no effect without a port',
      'add port, for example 4001, or remove host',
    );
  const secretKey = sealingKey(section.secret_key, diagnostics);
  const { sandbox, events } = section;
  return {
    users: usersOf(section.session_api_key, diagnostics),
    secretKey,
    publicBaseUrl: baseUrl(section.public_base_url, ['platform', 'public_base_url'], diagnostics),
    port: section.port ?? null,
    host: section.host ?? null,
    events: {
      keep: events.keep,
      maxAgeMs: events.max_age_days * DAY_MS,
      maxEvents: events.max_events_per_conversation,
      maxBytes: events.max_mb_per_conversation * MIB,
      maxTotalBytes: events.max_total_mb * MIB,
    },
    sandbox: {
      driver: sandbox.driver,
      maxRunning: sandbox.max_running,
      idlePauseMs: sandbox.idle_pause_seconds * 1000,
      startTimeoutMs: sandbox.start_timeout_seconds * 1000,
      isolation: sandbox.isolation,
      stopWithServer: sandbox.stop_with_server,
      dockerSocket: sandbox.docker_socket,
      webhookBaseUrl: baseUrl(
        sandbox.webhook_base_url,
        ['platform', 'sandbox', 'webhook_base_url'],
        diagnostics,
      ),
    },
    kubernetes: sandbox.driver === 'kubernetes' ? kubernetesOf(section, diagnostics) : null,
    sandboxSpecs: specsOf(section, diagnostics),
  };
}

function usersOf(
  keys: PlatformSection['session_api_key'],
  diagnostics: Diagnostics,
): PlatformSettings['users'] {
  const path = ['platform', 'session_api_key'];
  const listed = typeof keys === 'string' ? [{ key: keys, user_id: null }] : keys;
  const taken = new Set<string>();
  return listed.flatMap(({ key, user_id: userId }, index) => {
    const at: Path = typeof keys === 'string' ? path : [...path, index, 'key'];
    const secret = keyAt(key, at, diagnostics);
    if (secret === null) return [];
    if (taken.has(secret.sha256())) {
      diagnostics.error(
        at,
        'another user has this key; they could not be told apart',
        'give each user a key',
      );
    }
    taken.add(secret.sha256());
    return [{ key: secret, userId }];
  });
}

function sealingKey(text: string, diagnostics: Diagnostics): Secret {
  const bytes = BASE64.test(text) ? Buffer.from(text, 'base64').length : 0;
  if (bytes !== SECRET_KEY_BYTES) {
    const got = bytes === 0 ? 'is not base64' : `is base64 of ${bytes} bytes`;
    diagnostics.error(
      ['platform', 'secret_key'],
      `must be base64 of ${SECRET_KEY_BYTES} bytes; it ${got}`,
      'make one with: openssl rand -base64 32',
    );
  }
  return new Secret(text);
}

function baseUrl(text: string | undefined, path: Path, diagnostics: Diagnostics): string | null {
  if (text === undefined) return null;
  const url = URL.parse(text);
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  if (plain && url.username === '' && url.password === '')
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  diagnostics.error(
    path,
    'must be a URL that begins with http:// or https://, without credentials, query and fragment',
    `for example ${String(path.at(-1))}: http://throughline:4000`,
  );
  return null;
}

function specsOf(
  { sandbox, sandbox_specs: specs }: PlatformSection,
  diagnostics: Diagnostics,
): SandboxSpec[] {
  const taken = new Set<string>();
  return specs.map((spec, index) => {
    const path = ['platform', 'sandbox_specs', index];
    if (!ID.test(spec.id)) {
      const fix = 'use letters, digits, dots, dashes and underscores, at most 64';
      diagnostics.error([...path, 'id'], 'cannot be used as an id in a URL', fix);
    } else if (taken.has(spec.id)) diagnostics.error([...path, 'id'], 'appears twice', 'choose another id');
    taken.add(spec.id);
    if (sandbox.driver === 'process' && (spec.command ?? []).length === 0)
      diagnostics.error([...path, 'command'], 'is missing', 'the process driver needs a command to run');
    spec.readable_paths.forEach((readable, at) => {
      if (!readable.startsWith('/') || readable.split('/').includes('..'))
        diagnostics.error(
          [...path, 'readable_paths', at],
          'is no absolute path',
          'write it from the root on, without ..',
        );
    });
    if (sandbox.driver !== 'process' && spec.image === undefined)
      diagnostics.error(
        [...path, 'image'],
        'is missing',
        `the ${sandbox.driver} driver needs an image to run`,
      );
    if (sandbox.driver === 'kubernetes') checkKubernetesSpec(spec, path, diagnostics);
    return specOf(spec, sandbox.driver);
  });
}

/** A container without bounds can take the whole machine; these are roomy for one agent. */
const CONTAINER_LIMITS = { memoryMb: 4_096, cpus: 2, processes: 1_024 } as const;

function specOf(spec: SandboxSpecEntry, driver: PlatformSettings['sandbox']['driver']): SandboxSpec {
  const { limits } = spec;
  const bounds = driver === 'process' ? { memoryMb: null, cpus: null, processes: null } : CONTAINER_LIMITS;
  return {
    id: spec.id,
    command: spec.command ?? [],
    image: spec.image ?? null,
    port: spec.port,
    workingDir: spec.working_dir,
    readablePaths: spec.readable_paths,
    initialEnv: Object.entries(spec.initial_env).map(([name, value]) => [name, new Secret(String(value))]),
    healthPath: spec.health_path,
    conversationsPath: spec.conversations_path ?? null,
    limits: {
      memoryMb: limits.memory_mb ?? bounds.memoryMb,
      cpuSeconds: limits.cpu_seconds ?? null,
      cpus: limits.cpus ?? bounds.cpus,
      openFiles: limits.open_files ?? null,
      processes: limits.processes ?? bounds.processes,
    },
  };
}
