// Where spans go: `general_settings.otel`, or LiteLLM's `callbacks: [otel]`. For what the file leaves out it reads
// OpenTelemetry's environment variables (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/),
// then LiteLLM's older ones: OTEL_EXPORTER, OTEL_ENDPOINT, OTEL_HEADERS. A wrong value is an error at load, not a line in
// a log later. Pure; returns headers as secrets.
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import type { Environment } from '../environment.ts';
import { Secret } from '../secret.ts';
import type { OtelSettings } from '../otel-settings.ts';
import type { Path } from '../tree.ts';
import { isSetByProxy } from '../header-names.ts';
import { FIELD_NAME, FIELD_VALUE } from './headers.ts';
import { OTEL_CALLBACK, refuseProtecting, withoutEffect } from './protecting-callbacks.ts';

const COLLECTOR = 'http://localhost:4318';
const TRACES_PATH = '/v1/traces';
const MOST_QUEUED = 1_000_000;

/** null = tracing is off. */
export function otelOf(file: GatewayFile, env: Environment, diagnostics: Diagnostics): OtelSettings | null {
  const { general_settings: general, litellm_settings: litellm } = file;
  const called = hasOtelCallback(litellm.callbacks, diagnostics);
  if (general.otel === undefined && !called) return null;
  const otelEnv = new OtelEnvironment(env, diagnostics, general.otel === undefined ? CALLBACKS : SECTION);
  const isOff = /^true$/i.test(otelEnv.text('OTEL_SDK_DISABLED') ?? '');
  if (isOff || otelEnv.text('OTEL_TRACES_EXPORTER')?.toLowerCase() === 'none') return null;
  const { endpoint, headers, service_name, sample_ratio } = general.otel ?? {};
  otelEnv.choice(
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER'],
    ['http/protobuf', 'http/json', 'otlp_http'], // a collector takes both at one address
    'write http/protobuf, and the port of OTLP over HTTP (4318): gRPC is not spoken',
  );
  const resource = new Map(otelEnv.pairs(['OTEL_RESOURCE_ATTRIBUTES']));
  const service = service_name ?? otelEnv.text('OTEL_SERVICE_NAME') ?? resource.get('service.name');
  resource.set('service.name', service ?? 'throughline');
  return {
    endpoint: endpointOf(endpoint, otelEnv),
    headers: headersOf(headers, otelEnv),
    timeoutMs: otelEnv.whole(['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'], 10_000),
    compression: otelEnv.choice(
      ['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION', 'OTEL_EXPORTER_OTLP_COMPRESSION'],
      ['none', 'gzip'],
    ),
    resource: [...resource],
    sampler:
      sample_ratio === undefined ? samplerOf(otelEnv) : { ratio: Number(sample_ratio), followsCaller: true },
    propagates: litellm.forward_traceparent_to_llm_provider,
    delayMs: otelEnv.whole(['OTEL_BSP_SCHEDULE_DELAY'], 5_000),
    queueSpans: otelEnv.whole(['OTEL_BSP_MAX_QUEUE_SIZE'], 4_096, MOST_QUEUED),
  };
}

const SECTION: Path = ['general_settings', 'otel'];
const CALLBACKS: Path = ['litellm_settings', 'callbacks'];

/** Whether `otel` is among the callbacks; warns that the others have no effect. */
function hasOtelCallback(written: string | readonly string[] | undefined, diagnostics: Diagnostics): boolean {
  const names = typeof written === 'string' ? [written] : (written ?? []);
  const others = withoutEffect(names);
  refuseProtecting(names, CALLBACKS, diagnostics);
  if (others.length > 0) {
    const message = `${!names.includes(OTEL_CALLBACK) ? 'has' : `has, but for ${OTEL_CALLBACK},`} no effect here`;
    diagnostics.warn(
      CALLBACKS,
      message,
      'remove it, or leave it for another proxy that reads this file',
      'key',
    );
  }
  return names.includes(OTEL_CALLBACK);
}

/** Reads OpenTelemetry's environment variables; an empty one counts as not set, as the specification requires. */
class OtelEnvironment {
  readonly #env: Environment;
  readonly #diagnostics: Diagnostics;
  readonly #path: Path;

  constructor(env: Environment, diagnostics: Diagnostics, path: Path) {
    this.#env = env;
    this.#diagnostics = diagnostics;
    this.#path = path;
  }

  wrong(message: string, fix: string): void {
    this.#diagnostics.error(this.#path, message, fix);
  }

  text(name: string): string | undefined {
    return this.#env[name]?.trim() || undefined;
  }

  /** The first variable that is set, and its value. */
  first(names: readonly string[]): readonly [name: string, text: string] | undefined {
    return names.map((name) => [name, this.text(name) ?? ''] as const).find(([, text]) => text !== '');
  }

  /** One of `words`; the first one is the default. */
  choice<W extends string>(
    names: readonly string[],
    words: readonly [W, ...W[]],
    fix = `write one of ${words.join(', ')}`,
  ): W {
    const [name, text] = this.first(names) ?? ['', words[0]];
    const known = words.find((word) => word === text);
    if (known === undefined) this.wrong(`the environment variable ${name} is ${text}`, fix);
    return known ?? words[0];
  }

  whole(names: readonly string[], otherwise: number, most = 3_600_000): number {
    const [name, text] = this.first(names) ?? ['', String(otherwise)];
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= 1 && number <= most) return number;
    this.wrong(`the environment variable ${name} is ${text}`, `write a whole number from 1 to ${most}`);
    return otherwise;
  }

  /** `name=value,name=value`, values percent-encoded. Messages show no value: it may be a key. */
  pairs(names: readonly string[]): (readonly [name: string, value: string])[] {
    const [variable, text] = this.first(names) ?? ['', ''];
    return text.split(',').flatMap((pair) => {
      if (pair.trim() === '') return [];
      const at = pair.indexOf('=');
      const value = decoded(pair.slice(at + 1).trim());
      if (at > 0 && value !== null) return [[pair.slice(0, at).trim(), value] as const];
      const message = `the environment variable ${variable} is not a list of name=value`;
      this.wrong(message, 'write name=value,name=value, with special characters of a value as %XX');
      return [];
    });
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The endpoint for traces is used as it is; a general endpoint gets the path of traces appended. */
function endpointOf(written: string | undefined, otelEnv: OtelEnvironment): string {
  const own = written === undefined ? otelEnv.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') : undefined;
  const [, base] = otelEnv.first(['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_ENDPOINT']) ?? ['', COLLECTOR];
  const text = own ?? written ?? base;
  const what = written === undefined ? 'the collector that the environment names' : 'endpoint';
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    otelEnv.wrong(`${what} is not an http or https URL`, `for example ${COLLECTOR}`);
  else if (url.username !== '' || url.password !== '')
    otelEnv.wrong(`${what} contains credentials`, 'put them into headers, as authorization');
  else if (url.search !== '' || url.hash !== '')
    otelEnv.wrong(`${what} has a query or a fragment`, 'remove it');
  if (own !== undefined || text.endsWith(TRACES_PATH)) return text;
  return `${text.replace(/\/+$/, '')}${TRACES_PATH}`;
}

/** Headers by lower-case name; those of the file win over those of the environment. */
function headersOf(
  written: Readonly<Record<string, string | number | boolean>> | undefined,
  otelEnv: OtelEnvironment,
): OtelSettings['headers'] {
  const own = Object.entries(written ?? {}).map(([name, value]) => [name, String(value).trim()] as const);
  const names = ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_HEADERS'];
  const all = [...otelEnv.pairs(names), ...own];
  const headers = new Map<string, Secret>();
  for (const [name, value] of all) {
    const lower = name.toLowerCase();
    if (!FIELD_NAME.test(name) || isSetByProxy(lower))
      otelEnv.wrong('a header of the collector has a name that cannot be sent', 'remove it');
    else if (!FIELD_VALUE.test(value))
      otelEnv.wrong(`the value of ${lower} contains a character that headers cannot contain`, 'remove it');
    else headers.set(lower, new Secret(value));
  }
  return [...headers];
}

const SAMPLERS: Readonly<Record<string, { ratio: number | null; followsCaller: boolean }>> = {
  always_on: { ratio: 1, followsCaller: false },
  always_off: { ratio: 0, followsCaller: false },
  traceidratio: { ratio: null, followsCaller: false },
  parentbased_always_on: { ratio: 1, followsCaller: true },
  parentbased_always_off: { ratio: 0, followsCaller: true },
  parentbased_traceidratio: { ratio: null, followsCaller: true },
};

function samplerOf(otelEnv: OtelEnvironment): OtelSettings['sampler'] {
  const name = otelEnv.text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const sampler = Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name] : undefined;
  if (sampler === undefined) {
    const fix = `write one of ${Object.keys(SAMPLERS).join(', ')}`;
    otelEnv.wrong(`the environment variable OTEL_TRACES_SAMPLER is ${name}`, fix);
    return { ratio: 1, followsCaller: true };
  }
  const text = otelEnv.text('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = sampler.ratio ?? (/^\d*\.?\d+$/.test(text) ? Number(text) : NaN);
  if (!(ratio >= 0 && ratio <= 1))
    otelEnv.wrong(
      `the environment variable OTEL_TRACES_SAMPLER_ARG is ${text}`,
      'write a number from 0 to 1',
    );
  return { ratio, followsCaller: sampler.followsCaller };
}
