// The parts of the battery that play upstreams and clients who mean no good, in short.
import t from 'tap';
import { fuzz } from '../../resilience/parts/fuzz.ts';
import { isolation } from '../../resilience/parts/isolation.ts';
import { peers } from '../../resilience/parts/peers.ts';
import { secrets } from '../../resilience/parts/secrets.ts';
import { slowClients } from '../../resilience/parts/slow-clients.ts';
import { upstreamFaults } from '../../resilience/parts/upstream-faults.ts';
import { playInShort } from './fixture/in-short.ts';

await playInShort(t, [upstreamFaults, slowClients, secrets, isolation, peers, fuzz]);
