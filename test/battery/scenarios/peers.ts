// The corpus of malformed requests through the proxy, haproxy and nginx into one strict upstream each: who forwards
// what we refuse, and whose upstream saw something that two parsers could read in two ways. Ours must get the stated
// answer and forward nothing ambiguous; the others are only reported.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELAYS, folderFor } from '../../../bench/harness/peers.ts';
import { CORPUS_KEY, FRAMING, LINES, TARGETS } from '../../security/fixture/corpus.ts';
import { LIMIT_BYTES } from '../../security/fixture/odd-bodies.ts';
import { serveCli } from '../../support/cli.ts';
import { converse } from '../../support/converse.ts';
import { startStrictUpstream, type StrictUpstream } from '../../support/strict-upstream.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const CASES = [...FRAMING, ...LINES, ...TARGETS];
/** A peer that waits for more bytes has not forwarded; it is not waited for as long as ours. */
const PEER_WAITS_MS = 400;
const NAMED = 12;

interface Hop {
  readonly name: string;
  readonly port: number;
  readonly upstream: StrictUpstream;
}

async function ours(scenario: ScenarioRun): Promise<Hop> {
  const upstream = await startStrictUpstream();
  scenario.teardown(() => upstream.close());
  const folder = scenario.folder();
  const config = join(folder, 'gateway.yaml');
  writeFileSync(
    config,
    `model_list:\n  - model_name: demo\n    litellm_params: { model: litellm_proxy/demo, api_base: "${upstream.url}" }\n` +
      `general_settings:\n  master_key: ${CORPUS_KEY}\n  forward_client_headers_to_llm_api: true\n  max_request_size_mb: ${LIMIT_BYTES / 2 ** 20}\n`,
  );
  const flags = ['--log-level', 'silent'];
  const { port } = await serveCli(scenario, config, join(folder, 'data'), flags, { patienceMs: 600_000 });
  return { name: 'throughline', port, upstream };
}

async function others(scenario: ScenarioRun): Promise<Hop[]> {
  const hops: Hop[] = [];
  const parent = scenario.folder();
  for (const peer of RELAYS.filter(({ name }) => name === 'nginx' || name === 'haproxy')) {
    const missing = peer.missing();
    if (missing !== null) {
      scenario.notes.push(`${peer.name} was not compared: ${missing}.`);
      continue;
    }
    const upstream = await startStrictUpstream();
    scenario.teardown(() => upstream.close());
    const upstreamPort = Number(new URL(upstream.url).port);
    const running = await peer.start({ folder: folderFor(parent, peer.name), upstreamPort, models: 1 });
    scenario.teardown(() => running.program.stop());
    hops.push({ name: peer.name, port: running.port, upstream });
  }
  return hops;
}

async function run(scenario: ScenarioRun): Promise<readonly ResultRow[]> {
  const own = await ours(scenario);
  const result = new ResultRow(`${CASES.length} malformed and odd requests`);
  const peers = scenario.options.quick ? [] : await others(scenario);
  const forwardedBy = new Map(peers.map(({ name }) => [name, [] as string[]]));
  const ambiguousBy = new Map(peers.map(({ name }) => [name, [] as string[]]));
  for (const one of CASES) {
    const before = own.upstream.deviations.length;
    const got = await converse(own.port, one.bytes, one);
    const [first] = got.responses;
    const answered =
      one.status === 'closed' ? first === undefined || first.status === 400 : first?.status === one.status;
    result.check(
      answered && !got.hung && own.upstream.deviations.length === before,
      () =>
        `${one.title}: ${first?.status ?? 'no answer'} in place of ${one.status}${got.hung ? ', and hung' : ''}`,
    );
    if (one.status === 200) continue;
    for (const { name, port, upstream } of peers) {
      const [seen, odd] = [upstream.seen.length, upstream.deviations.length];
      await converse(port, one.bytes, { ...one, withinMs: PEER_WAITS_MS });
      if (upstream.deviations.length > odd) ambiguousBy.get(name)?.push(one.title);
      else if (upstream.seen.length > seen) forwardedBy.get(name)?.push(one.title);
    }
  }
  result.check(own.upstream.deviations.length === 0, () => own.upstream.deviations.join('; '));
  const refused = CASES.filter(({ status }) => status !== 200).length;
  for (const { name } of peers) {
    const [forwarded, odd] = [forwardedBy.get(name) ?? [], ambiguousBy.get(name) ?? []];
    result.notes.push(
      `Of ${refused} that the proxy refuses, ${name} forwards ${forwarded.length} in a form that the strict upstream takes and ${odd.length} in one that it does not.`,
      ...(odd.length === 0 ? [] : [`${name}, not taken: ${listed(odd)}.`]),
      ...(forwarded.length === 0 ? [] : [`${name}, taken: ${listed(forwarded)}.`]),
    );
  }
  return [result];
}

function listed(titles: readonly string[]): string {
  const more = titles.length > NAMED ? ` and ${titles.length - NAMED} more` : '';
  return titles.slice(0, NAMED).join('; ') + more;
}

export const peers: Scenario = {
  name: 'raw-requests',
  about:
    'malformed requests: the stated answer, nothing ambiguous forwarded, compared with haproxy and nginx',
  run,
};
