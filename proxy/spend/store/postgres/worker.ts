// The PostgreSQL store's own thread. Calls come from backend.ts.
import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../base/worker-rpc.ts';
import type { StoreCalls } from '../backend.ts';
import type { ExtensionCalls, PostgresWorkerData } from './backend.ts';
import { PostgresStore } from './store.ts';

const store = new PostgresStore(workerData as PostgresWorkerData);
serveCalls<StoreCalls & ExtensionCalls>({ methods: () => store, onClose: () => store.close() });
