// The platform interface: creates its parts and is the only thing that the composition root knows about them. It uses two
// interfaces of the proxy: the caller directory (keys of conversations) and the reader of spend rows.
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PlatformSettings } from '../config/snapshot.ts';
import { CallerDirectory } from '../proxy/server/mount.ts';
import type { PlatformFigures } from '../proxy/server/mount.ts';
import type { Mount, MountResponse, MountRequest } from '../proxy/server/mount.ts';
import { OUTSIDE_PATHS } from './api/outside.ts';
import { storeDownResponse } from './api/router.ts';
import { KEY_PREFIX } from './conversations/conversation.ts';
import { StoreUnavailable } from '../proxy/server/mount.ts';
import { openPlatformFile, platformFile, platformTables, type PlatformStore } from './store/store.ts';
import { sandboxApiUrl } from './sandbox-api-url.ts';
import { assemble, type Parts, type PlatformOptions } from './assembly.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 10_000;

/** A running platform. With the embedded store its parts exist from the start; a shared database may be down at first. */
export class Platform implements Mount {
  readonly paths = ['/api/', ...OUTSIDE_PATHS];
  readonly callers = new CallerDirectory((credential) => this.#catchUp(credential));
  readonly #store: PlatformStore;
  #options: PlatformOptions;
  #url = '';
  /** Of the last reload; the settings of the options are those of the start. */
  #applied: PlatformSettings;
  /** Where the interface itself listens. */
  #ownUrl = '';
  /** null = the database is not available yet. */
  #parts: Parts | null = null;
  #opening: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: PlatformOptions, store: PlatformStore) {
    this.#options = options;
    this.#applied = options.settings;
    this.#store = store;
  }

  /** @throws WrongSecretKey, PlatformStoreUnavailable, SandboxFailure */
  async open(): Promise<void> {
    const { settings } = this.#options;
    const parts = await assemble(this.#options, this.#store, this.callers, () => this.#sandboxApiUrl());
    this.#parts = parts;
    if (this.#applied === settings) this.#address(parts);
    else this.#apply(parts); // a reload came meanwhile
  }

  /** Opens as soon as the database is available: LLM calls with the master key must not wait for it. */
  openLater(cause: Error, pauseMs = FIRST_RETRY_MS): void {
    const { log } = this.#options;
    if (pauseMs === FIRST_RETRY_MS)
      log.error({ err: cause }, 'the platform interface waits for its database');
    this.#retry = setTimeout(() => {
      this.#opening = this.open().then(
        () => log.info('the platform interface is served'),
        (err: Error) => {
          if (this.#closed) return;
          if (err instanceof StoreUnavailable) this.openLater(err, Math.min(pauseMs * 2, LONGEST_RETRY_MS));
          else log.error({ err }, 'the platform interface cannot be served; fix it and restart');
        },
      );
    }, pauseMs).unref();
  }

  /** For metrics. */
  get figures(): PlatformFigures {
    const parts = this.#parts;
    return {
      answers: parts?.router.responsesByStatus ?? new Map(),
      sandboxes: parts?.sandboxes.known.counts ?? new Map(),
      keys: this.callers.size,
      servers: parts?.replicas.count ?? 0,
    };
  }

  async handle(request: MountRequest): Promise<MountResponse> {
    if (this.#parts === null) return storeDownResponse(request);
    return this.#parts.router.handle(request, (key) => hash('sha256', key, 'hex'));
  }

  /**
   * Sets the listening addresses. @param url of the proxy: conversations get it when the configuration has no
   * public_base_url. @param ownUrl of this interface, where sandboxes report to
   */
  serve(url: string, ownUrl: string): void {
    this.#url = url;
    this.#ownUrl = ownUrl;
    if (this.#parts !== null) this.#address(this.#parts);
  }

  /** Applies users, limits and specs of a new configuration; logs what needs a restart. */
  reconfigure(next: PlatformSettings | null): void {
    const { settings, log } = this.#options;
    if (next === null) {
      log.warn('platform: was removed from the configuration; it is served until a restart');
      return;
    }
    const fixed =
      next.secretKey.sha256() !== settings.secretKey.sha256() ||
      next.port !== settings.port ||
      next.host !== settings.host ||
      next.sandbox.driver !== settings.sandbox.driver ||
      next.sandbox.isolation !== settings.sandbox.isolation ||
      next.sandbox.dockerSocket !== settings.sandbox.dockerSocket ||
      next.kubernetes?.token?.sha256() !== settings.kubernetes?.token?.sha256() ||
      !isDeepStrictEqual({ ...next.kubernetes, token: null }, { ...settings.kubernetes, token: null });
    if (fixed)
      log.warn(
        'platform.secret_key, port, host, sandbox.driver, isolation, docker_socket and kubernetes take effect after a restart',
      );
    this.#applied = next;
    if (this.#parts === null) this.#options = { ...this.#options, settings: next };
    else this.#apply(this.#parts);
  }

  /** Sandboxes keep running unless `stop_with_server` is set. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry ?? undefined);
    await this.#opening;
    if (this.#parts !== null) {
      const { sandboxes, starter, replicas, kept } = this.#parts;
      await sandboxes.close();
      await starter.drained();
      await kept.close();
      await replicas.close();
    }
    await this.#store.close();
  }

  #apply(parts: Parts): void {
    const { users, events, sandbox, sandboxSpecs } = this.#applied;
    parts.router.setUsers(users);
    parts.kept.reconfigure(events);
    parts.sandboxes.reconfigure(sandbox, sandboxSpecs);
    this.#address(parts);
  }

  #address({ address }: Parts): void {
    address.base = this.#applied.publicBaseUrl ?? this.#url;
  }

  #sandboxApiUrl(): string | null {
    return sandboxApiUrl(this.#options.settings, this.#applied, this.#ownUrl);
  }

  #catchUp(credential: string): Promise<void> | null {
    if (!credential.startsWith(KEY_PREFIX)) return null;
    if (this.#parts === null)
      return Promise.reject(new StoreUnavailable('unavailable', 'it has not answered yet'));
    const { replicas } = this.#parts;
    return replicas.alone ? null : replicas.syncBriefly();
  }
}

/** Opens the platform on its data. @throws WrongSecretKey, SandboxFailure, PlatformStoreUnavailable of a file of its own */
export async function openPlatform(options: PlatformOptions): Promise<Platform> {
  const { shared, dataDir } = options;
  const store =
    shared === null
      ? openPlatformFile(platformFile(dataDir))
      : platformTables(shared.extensionTables, shared.schema);
  const platform = new Platform(options, store);
  try {
    await platform.open();
  } catch (error) {
    const isAway = shared !== null && error instanceof StoreUnavailable;
    if (!isAway) {
      await platform.close();
      throw error;
    }
    platform.openLater(error);
  }
  return platform;
}
