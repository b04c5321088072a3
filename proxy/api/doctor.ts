// `GET /doctor`: what this proxy sees of its configuration and its gateways, by the engine of `throughline doctor`. For
// administrators; asks configured gateways only, one run at a time, and a result is given for some seconds to all. Calls
// that cost money need a POST that says so. `GET /doctor/stream`: events at a steady pace, so that a client sees whether
// what stands in between passes them on one by one, and the names of the headers that arrived.
import { Buffer } from 'node:buffer';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { VERSION } from '../active-config/version.ts';
import { runDoctor, type SendMode } from '../doctor/doctor.ts';
import type { Area } from '../doctor/finding.ts';
import { machineFacts } from '../doctor/machine.ts';
import type { Report } from '../doctor/report.ts';
import { Fault } from '../errors/fault.ts';
import { callHeaders, sendJson } from '../pipeline/respond.ts';
import { pause } from '../pipeline/until-client-leaves.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { ServerState } from './health.ts';
import { readObject } from './json-body.ts';

const FRESH_MS = 10_000;
const TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 60_000;
const QUIET: ReadonlySet<Area> = new Set<Area>(['machine', 'configuration', 'data', 'gateway', 'call']);
const WITH_CALLS: ReadonlySet<Area> = new Set<Area>([...QUIET, 'proxy']);

type State =
  | { readonly is: 'idle'; readonly last: { readonly report: Report; readonly at: number } | null }
  | { readonly is: 'running'; readonly send: SendMode; readonly report: Promise<Report> };

/** Asked for when a request comes. */
interface DoctorOwner {
  readonly reloader: ConfigReloader;
  readonly state: ServerState;
}

export class DoctorRoutes {
  readonly #owner: DoctorOwner;
  #state: State = { is: 'idle', last: null };

  constructor(owner: DoctorOwner) {
    this.#owner = owner;
  }

  /** `GET /doctor` */
  async show(x: Exchange): Promise<void> {
    sendJson(x, await this.#report('never'));
  }

  /** `POST /doctor` with `{"send": true}`: one call of each entry as well, through this proxy. @throws Fault doctor_running */
  async run(x: Exchange): Promise<void> {
    const { send } = await readObject(x);
    sendJson(x, await this.#report(send === true ? 'through' : 'never'));
  }

  #report(send: SendMode): Promise<Report> {
    const state = this.#state;
    if (state.is === 'running') {
      if (state.send === send && send === 'never') return state.report;
      throw new Fault('doctor_running', 'A run of the doctor is under way.');
    }
    const { clock } = this.#owner.reloader.active.services;
    const { last } = state;
    if (send === 'never' && last !== null && clock.mono() - last.at < FRESH_MS)
      return Promise.resolve(last.report);
    const report = this.#run(send).then(
      (done) => {
        this.#state = { is: 'idle', last: { report: done, at: clock.mono() } };
        return done;
      },
      (error: unknown) => {
        this.#state = { is: 'idle', last: null };
        throw error;
      },
    );
    this.#state = { is: 'running', send, report };
    return report;
  }

  async #run(send: SendMode): Promise<Report> {
    const { active, shared } = this.#owner.reloader;
    const { snapshot, services } = active;
    const { ownUrl } = this.#owner.state;
    active.enter(); // keeps its pools open
    try {
      return await runDoctor({
        version: VERSION,
        areas: send === 'never' ? QUIET : WITH_CALLS,
        machine: machineFacts(),
        inspected: { issues: snapshot.warnings, isServed: true, snapshot, source: shared.source, leftOut: 0 },
        configName: 'configuration in service',
        graceSeconds: null,
        data: { why: 'readiness and /metrics say it' },
        proxy:
          send === 'never' || ownUrl === null
            ? { why: 'it is this one' }
            : { url: new URL(ownUrl), key: snapshot.masterKey, isNamed: true },
        models: [],
        pools: services.pools,
        send,
        latency: false,
        idleProbeS: null,
        timeoutMs: TIMEOUT_MS,
        callTimeoutMs: CALL_TIMEOUT_MS,
        muted: new Set(),
        clock: services.clock,
        more: null,
        onOutcome: () => undefined,
        onGateway: () => undefined,
      });
    } finally {
      active.leave();
    }
  }
}

const MOST_NAMES = 50;

/** Names of the headers of the caller, as far as they are of use to find out what was removed. */
function arrived({ req }: Exchange): string[] {
  const names = req.headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  return [...new Set(names)].filter((name) => /^x-[a-z0-9-]{1,60}$/.test(name)).slice(0, MOST_NAMES);
}

const EVENTS = 5;
const PAUSE_MS = 200;
/** Longer than any load balancer lets a connection be idle by default. */
const LONGEST_SILENCE_S = 600;

/** `?silence=SECONDS`; null = not asked for. @throws Fault invalid_parameter */
function silenceMsOf(query: string): number | null {
  const text = new URLSearchParams(query).get('silence') ?? '';
  if (text === '') return null;
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (seconds > 0 && seconds <= LONGEST_SILENCE_S) return seconds * 1000;
  const message = `silence must be a number of seconds above 0, at most ${LONGEST_SILENCE_S}.`;
  throw new Fault('invalid_parameter', message, { param: 'silence' });
}

/**
 * `GET /doctor/stream`: the same headers as streams of calls have. Takes a second, and costs nothing. With `silence` there are
 * two events with that silence between them: a stream of a model that thinks, for those who look for idle timeouts.
 */
export async function doctorStream(x: Exchange): Promise<void> {
  const { clock } = x.active.services;
  const startedAt = clock.mono();
  const silenceMs = silenceMsOf(x.query);
  const events = silenceMs === null ? EVENTS : 2;
  const headers = [
    'content-type',
    'text/event-stream',
    'cache-control',
    'no-cache',
    'x-accel-buffering',
    'no',
  ];
  x.res.writeHead(200, [...headers, ...callHeaders(x)]);
  for (let n = 1; n <= events && !x.res.destroyed; n += 1) {
    const sent_ms = Math.round(clock.mono() - startedAt);
    const event = JSON.stringify({ n, of: events, sent_ms, ...(n === 1 ? { headers: arrived(x) } : {}) });
    x.res.write(Buffer.from(`data: ${event}\n\n`));
    if (n === events) break;
    const left = await pause(x.res, silenceMs ?? PAUSE_MS, 'the stream was silent');
    if (left !== null) return x.res.destroy();
  }
  x.res.end(Buffer.from('data: [DONE]\n\n'));
}
