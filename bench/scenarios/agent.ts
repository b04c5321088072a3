// An agent's call: 440 KB of messages, once full of code (an escape every few bytes) and once plain prose. The model
// is rewritten and the user removed.
import { agentBody, escapesPerByte, type Kind } from '../harness/bodies.ts';
import { CPU_COLUMNS, cpuRows, jsonLoad, measureCpu } from '../harness/measure.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';

async function run(bench: Bench, kind: Kind): Promise<readonly Table[]> {
  const upstreamPort = await bench.upstream('json');
  const peers = await bench.start(bench.peers(['bare', 'nginx', 'haproxy', 'Portkey']), upstreamPort);
  const body = agentBody(kind);
  const connections = bench.wanted.connections ?? 8;
  const requests = bench.count(1_000, 150);
  const measured = await measureCpu(bench, {
    peers,
    upstreamPort,
    unitsPerRequest: 1,
    load: jsonLoad(body, connections, requests),
  });
  const every = (1 / escapesPerByte(body)).toFixed(0);
  return [
    {
      title: `Agent call (${kind}): ${body.length} bytes in, an escape every ${every} bytes, ${connections} connections, ${requests} requests, best of ${bench.wanted.rounds}`,
      columns: ['', 'CPU us per request', ...CPU_COLUMNS],
      rows: cpuRows(measured, 0),
      notes: bench.notes,
    },
  ];
}

export const agentCode: Scenario = {
  name: 'agent-code',
  about: '440 KB of messages full of code: CPU per request',
  run: (bench) => run(bench, 'code'),
};

export const agentProse: Scenario = {
  name: 'agent-prose',
  about: '440 KB of messages of plain prose: CPU per request',
  run: (bench) => run(bench, 'prose'),
};
