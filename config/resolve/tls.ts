// Certificates of the configuration -> TLS settings: which authorities and which client certificate an upstream has, and
// the certificate of our own ports. Files are read by `SecretFiles`, so they are watched, and read once per load.
import { createHash } from 'node:crypto';
import type { Diagnostics } from '../diagnostics.ts';
import type { Environment } from '../environment.ts';
import type { EntryParams, GatewayFile } from '../gateway-file.ts';
import { authoritiesProblem, pairProblem, validityProblem } from '../pem.ts';
import { Secret } from '../secret.ts';
import type { SecretFiles } from '../secret-files.ts';
import type { Authorities, Certificate, ListenerTls, UpstreamTls } from '../tls-settings.ts';
import type { Path } from '../tree.ts';

/** Where a value was stated: a place in the file, or a variable. */
interface Stated {
  readonly text: string;
  readonly path: Path;
  /** null = in the file. */
  readonly variable: string | null;
}

type Params = Pick<EntryParams, 'ssl_verify' | 'ssl_certificate' | 'ssl_certificate_key'>;

/** What an entry says; `isTrusted` = it may show the certificate that the file states for all. */
interface EntryTls {
  readonly params: Params;
  readonly at: Path;
  readonly origin: string;
  readonly isTrusted: boolean;
}

interface TlsInput {
  readonly file: GatewayFile;
  readonly env: Environment;
  readonly files: SecretFiles;
  readonly diagnostics: Diagnostics;
}

const PLAIN = 'has no effect: api_base is http://';
const FALSE = 'has no effect: certificates are always checked';
const NAME_IT = 'name the PEM file of the authority instead: ssl_verify: /path/ca.pem';
/** OpenSSL's variable, then the one of Python's requests. */
const BUNDLES = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'];

/** Resolves the TLS settings of one load; each file is read and checked once. */
export class TlsResolver {
  readonly #files: SecretFiles;
  readonly #diagnostics: Diagnostics;
  readonly #env: Environment;
  readonly #general: GatewayFile['general_settings'];
  /** For all entries: authorities, certificate. */
  readonly #shared: { readonly verify: Stated | null; readonly certificate: StatedPair | null };
  readonly #bundle: Authorities | null;
  readonly #authorities = new Map<string, Authorities | null>();
  readonly #certificates = new Map<string, Certificate | null>();
  readonly #made = new Map<string, UpstreamTls>();

  constructor({ file, env, files, diagnostics }: TlsInput) {
    this.#files = files;
    this.#diagnostics = diagnostics;
    this.#env = env;
    this.#general = file.general_settings;
    const router: [Params, Path] = [
      file.router_settings.default_litellm_params,
      ['router_settings', 'default_litellm_params'],
    ];
    const litellm: [Params, Path] = [file.litellm_settings, ['litellm_settings']];
    this.#shared = {
      verify:
        this.#verifyOf(...router) ??
        this.#verifyOf(...litellm) ??
        this.#verifyText(this.#variable('SSL_VERIFY')),
      certificate: pairOf(...router) ?? pairOf(...litellm) ?? this.#variablePair(),
    };
    this.#bundle = this.#bundleOf();
  }

  /** null = as Node does without any settings. */
  upstream({ params, at, origin, isTrusted }: EntryTls): UpstreamTls | null {
    const own = this.#verifyOf(params, at);
    const ownPair = pairOf(params, at);
    if (origin.startsWith('http:')) {
      for (const stated of [own?.text === 'true' ? null : own, ownPair?.certificate ?? null])
        if (stated !== null) this.#diagnostics.warn(stated.path, PLAIN, 'use https:// or remove it', 'key');
      return null;
    }
    const verify = own ?? this.#shared.verify;
    const isExclusive = verify !== null && verify.text !== 'true';
    const authorities = isExclusive ? this.#authoritiesAt(verify) : this.#bundle;
    const pair = ownPair ?? (isTrusted ? this.#shared.certificate : null);
    const certificate = pair === null ? null : this.#certificateAt(pair);
    if (authorities === null && certificate === null) return null;
    const sha256 = digestOf(String(isExclusive), authorities, certificate);
    const made = this.#made.get(sha256) ?? { sha256, authorities, isExclusive, certificate };
    this.#made.set(sha256, made);
    return made;
  }

  /** null = plain HTTP. */
  listener(): ListenerTls | null {
    const at = ['general_settings', 'tls'];
    const stated = this.#general.tls;
    const pair = stated === undefined ? this.#listenerVariables() : this.#listenerFiles(stated, at);
    if (pair === null) return null;
    const certificate = this.#certificateAt(pair);
    const ca = stated?.client_ca_file;
    const clientAuthorities =
      ca === undefined
        ? null
        : this.#authoritiesAt({ text: ca, path: [...at, 'client_ca_file'], variable: null });
    if (certificate === null || (ca !== undefined && clientAuthorities === null)) return null; // an error says so
    return { sha256: digestOf('', clientAuthorities, certificate), certificate, clientAuthorities };
  }

  #listenerFiles({ cert_file, key_file }: NonNullable<Listener>, at: Path): StatedPair | null {
    if (cert_file === undefined || key_file === undefined) {
      const missing = cert_file === undefined ? 'cert_file' : 'key_file';
      const fix = 'write cert_file and key_file, or remove tls';
      this.#diagnostics.error(at, `has no ${missing}`, fix, 'key');
      return null;
    }
    return {
      certificate: { text: cert_file, path: [...at, 'cert_file'], variable: null },
      key: { text: key_file, path: [...at, 'key_file'], variable: null },
    };
  }

  #listenerVariables(): StatedPair | null {
    const [certificate, key] = [this.#variable('SSL_CERTFILE_PATH'), this.#variable('SSL_KEYFILE_PATH')];
    if (certificate === null && key === null) return null;
    if (certificate !== null && key !== null) return { certificate, key };
    const [given, missing] =
      key === null ? ['SSL_CERTFILE_PATH', 'SSL_KEYFILE_PATH'] : ['SSL_KEYFILE_PATH', 'SSL_CERTFILE_PATH'];
    this.#diagnostics.error([], `${given} is set without ${missing}`, 'set both, or neither');
    return null;
  }

  #variable(name: string): Stated | null {
    const text = this.#env[name] ?? '';
    return text.trim() === '' ? null : { text, path: [], variable: name };
  }

  #variablePair(): StatedPair | null {
    const certificate = this.#variable('SSL_CERTIFICATE');
    return certificate === null ? null : { certificate, key: this.#variable('SSL_CERTIFICATE_KEY') };
  }

  #verifyOf({ ssl_verify }: Params, at: Path): Stated | null {
    if (ssl_verify === undefined) return null;
    return this.#verifyText({ text: String(ssl_verify), path: [...at, 'ssl_verify'], variable: null });
  }

  /** Switched off is as if it were not stated, with a warning: the authorities that are known stay. */
  #verifyText(stated: Stated | null): Stated | null {
    if (stated === null) return null;
    const word = stated.text.trim().toLowerCase();
    if (/^(?:false|0|no|off)$/.test(word)) {
      this.#tell('warn', stated, FALSE, NAME_IT);
      return null;
    }
    return /^(?:true|1|yes|on)$/.test(word) ? { ...stated, text: 'true' } : stated;
  }

  /** Variables of other programs of the machine: what is wrong with them is no reason not to serve. */
  #bundleOf(): Authorities | null {
    const stated = BUNDLES.map((name) => this.#variable(name)).find((one) => one !== null) ?? null;
    return stated === null ? null : this.#authoritiesAt(stated, 'warn');
  }

  #authoritiesAt(stated: Stated, severity: 'error' | 'warn' = 'error'): Authorities | null {
    const known = this.#authorities.get(stated.text);
    if (known !== undefined) return known;
    const found = this.#files.readBundle(stated.text);
    const problem = found.ok ? authoritiesProblem(found.text) : found;
    const authorities =
      found.ok && problem === null ? { file: stated.text, pem: new Secret(found.text) } : null;
    if (problem !== null) this.#tell(severity, stated, quoted(stated, problem.message), problem.fix);
    else if (found.ok && stated.variable === null) this.#warnValidity(stated, found.text);
    if (authorities !== null || severity === 'warn') this.#authorities.set(stated.text, authorities);
    return authorities;
  }

  #certificateAt({ certificate: stated, key }: StatedPair): Certificate | null {
    const name = `${stated.text}\0${key?.text ?? ''}`;
    const known = this.#certificates.get(name);
    if (known !== undefined) return known;
    const found = this.#files.readBundle(stated.text);
    const keyFound = key === null ? found : this.#files.read(key.text);
    if (!keyFound.ok && key !== null) this.#tell('error', key, quoted(key, keyFound.message), keyFound.fix);
    if (!found.ok) this.#tell('error', stated, quoted(stated, found.message), found.fix);
    if (!found.ok || !keyFound.ok) return null;
    const problem = pairProblem(found.text, keyFound.text, key === null ? 'the same file' : `'${key.text}'`);
    if (problem !== null) {
      this.#tell('error', stated, quoted(stated, problem.message), problem.fix);
      return null;
    }
    this.#warnValidity(stated, found.text);
    if (keyFound.warning !== null && key !== null)
      this.#tell(
        'warn',
        key,
        quoted(key, keyFound.warning),
        'chmod 600 it, for the user that runs the proxy',
      );
    const made = { file: stated.text, pem: new Secret(found.text), key: new Secret(keyFound.text) };
    this.#certificates.set(name, made);
    return made;
  }

  #warnValidity(stated: Stated, pem: string): void {
    const problem = validityProblem(pem, Date.now());
    if (problem !== null)
      this.#tell('warn', stated, quoted(stated, problem), 'renew it; the new file is read without a restart');
  }

  #tell(severity: 'error' | 'warn', { path, variable }: Stated, message: string, fix: string): void {
    this.#diagnostics[severity](path, variable === null ? message : `${variable}: ${message}`, fix);
  }
}

type Listener = GatewayFile['general_settings']['tls'];

interface StatedPair {
  readonly certificate: Stated;
  /** null = in the same file. */
  readonly key: Stated | null;
}

function pairOf({ ssl_certificate, ssl_certificate_key }: Params, at: Path): StatedPair | null {
  if (ssl_certificate === undefined) return null;
  const stated = (text: string, key: string): Stated => ({ text, path: [...at, key], variable: null });
  return {
    certificate: stated(ssl_certificate, 'ssl_certificate'),
    key: ssl_certificate_key === undefined ? null : stated(ssl_certificate_key, 'ssl_certificate_key'),
  };
}

const quoted = ({ text }: Stated, message: string): string => `'${text}' ${message}`;

function digestOf(mode: string, authorities: Authorities | null, certificate: Certificate | null): string {
  const parts = [authorities?.pem, certificate?.pem, certificate?.key].map((one) => one?.sha256() ?? '');
  return createHash('sha256')
    .update([mode, ...parts].join(' '))
    .digest('hex');
}
