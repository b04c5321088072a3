// The way to an address, step by step: name resolution, TCP, TLS and the certificate; or the outgoing HTTP proxy. Opens one
// connection per step and sends nothing but the TLS handshake.
import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { isLinkLocal } from '../../config/link-local.ts';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { codeOf, meetsNoTls } from '../upstream/failures.ts';
import { proxyFor, type ProxySettings } from '../upstream/http-proxies.ts';
import { secureContextOf, UNKNOWN_CA } from '../upstream/tls.ts';
import { bounded, TookTooLong } from './bounded.ts';
import type { Code } from './codes.ts';
import type { Reporter } from './finding.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

interface NetworkQuestion {
  readonly origin: string;
  readonly proxies: ProxySettings;
  /** Of an entry that is not the operator's: no connection to link-local addresses, and none are named. */
  readonly refuseLinkLocal: boolean;
  /** As calls to it have it. */
  readonly tls: UpstreamTls | null;
  /** The line of api_base. */
  readonly place: string | null;
  readonly timeoutMs: number;
  /** Epoch ms. */
  readonly now: () => number;
}

/** @returns whether a connection comes about, with TLS where it is needed */
export async function checkNetwork(question: NetworkQuestion, report: Reporter): Promise<boolean> {
  const { origin, proxies, place } = question;
  const { hostname, protocol, port } = new URL(origin);
  const proxy = proxyFor(origin, proxies);
  if (proxy !== null) {
    const peer = new URL(proxy.origin);
    const through = `goes through the outgoing proxy ${proxy.origin}`;
    const target = { host: hostOf(peer.hostname), port: portOf(peer) };
    const failed = await reach(target, question);
    if (failed === null) report.passed('outgoing proxy', `${through}, which takes connections`);
    else report.found('outgoing proxy', 'TL-1404', { place, seen: `${through}: ${failed.seen}` });
    return failed === null;
  }
  const target = { host: hostOf(hostname), port: portOf({ protocol, port }) };
  const failed = await reach(target, question);
  if (failed !== null) {
    report.found(failed.check, failed.code, {
      place,
      seen: failed.seen,
      ...(failed.fix === undefined ? {} : { fix: failed.fix }),
    });
    return false;
  }
  report.passed('connection', `${target.host}:${target.port} takes connections`);
  return protocol === 'https:' ? checkTls(target, question, report) : true;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

interface Failed {
  readonly check: string;
  readonly code: Code;
  readonly seen: string;
  readonly fix?: string;
}

const hostOf = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');
const portOf = ({ protocol, port }: { readonly protocol: string; readonly port: string }): number =>
  Number(port || (protocol === 'https:' ? 443 : 80));

/** Resolves the name, then connects to one of its addresses. */
async function reach(target: Target, question: NetworkQuestion): Promise<Failed | null> {
  const { refuseLinkLocal, timeoutMs } = question;
  const { host, port } = target;
  let addresses: readonly string[] = [host];
  if (isIP(host) === 0) {
    try {
      addresses = (await bounded(lookup(host, { all: true }), timeoutMs)).map(({ address }) => address);
    } catch (error) {
      return { check: 'name', code: 'TL-1401', seen: `${host}: ${dnsTrouble(error)}`, ...inClusterFix(host) };
    }
  }
  if (refuseLinkLocal && addresses.some(isLinkLocal))
    return { check: 'name', code: 'TL-1410', seen: `${host} leads to a link-local or metadata address` };
  let socket: Socket | null = null;
  try {
    const opened = Promise.withResolvers<void>();
    socket = connectTcp({ host, port, autoSelectFamily: true });
    socket.once('connect', () => opened.resolve());
    socket.once('error', (error) => opened.reject(error));
    await bounded(opened.promise, timeoutMs);
    return null;
  } catch (error) {
    const at = `${host}:${port}`;
    if (error instanceof TookTooLong || codeOf(error) === 'ETIMEDOUT')
      return { check: 'connection', code: 'TL-1403', seen: `${at}: no connection within ${timeoutMs} ms` };
    const code = codeOf(error);
    const isRefused = code === 'ECONNREFUSED';
    return {
      check: 'connection',
      code: isRefused ? 'TL-1402' : 'TL-1403',
      seen: isRefused ? `${at}: connection refused` : `${at}: ${code || 'no connection'}`,
      ...(isRefused && isLoopback(host) ? { fix: LOOPBACK_FIX } : {}),
    };
  } finally {
    socket?.on('error', () => undefined);
    socket?.destroy();
  }
}

const LOOPBACK_FIX =
  'start the gateway there; in a container this address is the container itself: use the name of the service';
const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|::1)$/.test(host);

function dnsTrouble(error: unknown): string {
  if (error instanceof TookTooLong) return `the name server does not answer (${error.message})`;
  const code = codeOf(error);
  return code === 'EAI_AGAIN' ? 'the name server does not answer' : `the name is not known (${code})`;
}

/** A short name in a cluster resolves within its own namespace alone. */
function inClusterFix(host: string): { readonly fix?: string } {
  return host.includes('.') || host === 'localhost'
    ? {}
    : { fix: `write the whole name, in Kubernetes http://${host}.NAMESPACE.svc:PORT` };
}

/** The code for an error of TLS, of a socket of ours or of a call; null = it is none. */
export function tlsCode(code: string): Code | null {
  if (UNKNOWN_CA.has(code)) return 'TL-1405';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'TL-1406';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'TL-1407';
  return /^ERR_(?:SSL|TLS)|^CERT_|^EPROTO$/.test(code) ? 'TL-1408' : null;
}

async function checkTls(target: Target, question: NetworkQuestion, report: Reporter): Promise<boolean> {
  const { timeoutMs, place, now, tls: own } = question;
  const { host, port } = target;
  let socket: TLSSocket | null = null;
  try {
    const opened = Promise.withResolvers<void>();
    const servername = isIP(host) === 0 ? host : '';
    const tls = connectTls({
      host,
      port,
      servername,
      rejectUnauthorized: false,
      ...(own === null ? {} : { secureContext: secureContextOf(own) }),
      ALPNProtocols: ['http/1.1'],
    });
    socket = tls;
    tls.once('secureConnect', () => opened.resolve());
    tls.once('error', (error) => opened.reject(error));
    await bounded(opened.promise, timeoutMs);
    return judge(tls, target, { place, nowMs: now(), own }, report);
  } catch (error) {
    const code = codeOf(error);
    const why = error instanceof TookTooLong ? error.message : code || 'the connection was closed';
    report.found('TLS', 'TL-1408', {
      place,
      seen: `${host}:${port}: ${why}`,
      ...(error instanceof Error && meetsNoTls(error)
        ? { fix: `the port speaks no TLS: write http://${host}:${port} in api_base` }
        : {}),
    });
    return false;
  } finally {
    socket?.on('error', () => undefined);
    socket?.destroy();
  }
}

interface Circumstances {
  readonly place: string | null;
  readonly nowMs: number;
  readonly own: UpstreamTls | null;
}

function authorityFix(issuer: string, own: UpstreamTls | null): string {
  const authorities = own?.authorities ?? null;
  return authorities === null
    ? `write ssl_verify with a PEM file of the authority "${issuer}", or set NODE_EXTRA_CA_CERTS to it and restart the proxy`
    : `add the authority "${issuer}" to ${authorities.file}; the file is read without a restart`;
}

function judge(
  socket: TLSSocket,
  { host }: Target,
  { place, nowMs, own }: Circumstances,
  report: Reporter,
): boolean {
  const certificate = socket.getPeerCertificate(true);
  const validTo = Date.parse(certificate.valid_to);
  const day = Number.isNaN(validTo) ? 'an unknown day' : new Date(validTo).toISOString().slice(0, 10);
  const issuer = nameOf(certificate.issuer);
  if (!socket.authorized) {
    const error: unknown = socket.authorizationError;
    const text = typeof error === 'string' ? error : codeOf(error);
    const code = tlsCode(text) ?? 'TL-1408';
    const seen: Readonly<Partial<Record<Code, string>>> = {
      'TL-1405': `the certificate comes from "${issuer}" (${text})`,
      'TL-1406': `the certificate was valid until ${day} (${text})`,
      'TL-1407': `the certificate is for ${namesOf(certificate)}, api_base says ${host}`,
    };
    const first = namesOf(certificate).split(', ', 1)[0] ?? '';
    report.found('TLS', code, {
      place,
      seen: seen[code] ?? text,
      ...(code === 'TL-1405'
        ? {
            fix: authorityFix(issuer, own),
          }
        : {}),
      ...(code === 'TL-1407' && first !== ''
        ? { fix: `write https://${first} in api_base, or have ${host} added to the certificate` }
        : {}),
    });
    return false;
  }
  const days = Math.floor((validTo - nowMs) / DAY_MS);
  if (days < SOON_DAYS)
    report.found('TLS', 'TL-1409', {
      place,
      seen: `valid until ${day}: ${days} days left (from "${issuer}")`,
    });
  else report.passed('TLS', `${socket.getProtocol() ?? 'TLS'}, from "${issuer}", ${days} days left`);
  return true;
}

function nameOf(names: PeerCertificate['issuer'] | undefined): string {
  const name = names?.CN ?? names?.O ?? 'an unnamed authority';
  return (Array.isArray(name) ? name.join(', ') : name).slice(0, 80);
}

function namesOf({ subjectaltname, subject }: PeerCertificate): string {
  const names = [...(subjectaltname ?? '').matchAll(/(?:DNS|IP Address):([^,\s]+)/g)].map(
    ([, name = '']) => name,
  );
  return (names.length > 0 ? names.slice(0, 4) : [nameOf(subject)]).join(', ');
}
