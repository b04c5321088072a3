// The embedded database's own thread. Calls come from backend.ts.
import { workerData } from 'node:worker_threads';
import { postEvent, serveCalls } from '../../../base/worker-rpc.ts';
import type { StoreCalls } from '../backend.ts';
import type { SqliteWorkerData } from './backend.ts';
import { Database } from './database.ts';

const database = new Database(workerData as SqliteWorkerData, postEvent);
serveCalls<StoreCalls>({
  methods: () => database.open(),
  onError: (error) => database.failed(error),
  onClose: () => database.close(),
  onReopen: (data) => database.moveTo(data as SqliteWorkerData),
});
