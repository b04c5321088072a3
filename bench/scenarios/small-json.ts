// A small call: 1 KB in, 0.5 KB out, 32 connections.
import { smallBody } from '../harness/bodies.ts';
import { EVERYONE } from '../harness/gateways.ts';
import { CPU_COLUMNS, cpuRows, jsonLoad, measureCpu, WARM_CALLS } from '../harness/measure.ts';
import type { Scenario } from '../harness/scenario.ts';

export const smallJson: Scenario = {
  name: 'small-json',
  about: '1 KB in, 0.5 KB out, 32 connections: CPU per request',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const peers = await bench.start(bench.peers(EVERYONE), upstreamPort);
    const body = smallBody();
    const connections = bench.wanted.connections ?? 32;
    const requests = bench.count(20_000, 3_000);
    const measured = await measureCpu(bench, {
      peers,
      upstreamPort,
      unitsPerRequest: 1,
      warmUpRequests: bench.count(WARM_CALLS, 3_000),
      load: jsonLoad(body, connections, requests),
    });
    return [
      {
        title: `Small JSON call: ${body.length} bytes in, ${connections} connections, ${requests} requests, best of ${bench.wanted.rounds}`,
        columns: ['', 'CPU us per request', ...CPU_COLUMNS],
        rows: cpuRows(measured),
        notes: bench.notes,
      },
    ];
  },
};
