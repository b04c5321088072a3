// The worker's side of the thread: questions in, answers and events out, whatever database stands behind. The main
// thread speaks to it through worker-store.ts; questions and answers are structured clones.
import { parentPort } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import type { GuestTables } from './extension-tables.ts';
import type { Store, StoreEvent, StoreTrouble } from './store.ts';
import { StoreUnavailable } from './store.ts';

/** What can be asked: every method of a store, and of guests where it takes them. */
export type Method = keyof (Store & GuestTables);

/** What each of them answers. */
export type Answers = { [K in Method]: Awaited<ReturnType<(Store & GuestTables)[K]>> };

/** `args` are the parameters of the method. */
export interface Question {
  readonly id: number;
  readonly name: Method;
  readonly args: readonly unknown[];
}

/** What comes back: an answer to a question, or an event for the log. */
export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly trouble: StoreTrouble; readonly message: string }
  | { readonly event: StoreEvent };

/** Serves a store on this thread's port until it is asked to close. */
export function serveStore(open: (tell: (event: StoreEvent) => void) => Store & Partial<GuestTables>): void {
  const port = parentPort;
  if (port === null) throw new Error('a store is served by a worker thread only');
  const store = open((event) => port.postMessage({ event } satisfies Reply));
  port.on('message', (question: Question) => {
    void respond(store, question, port);
  });
}

async function respond(
  store: Store & Partial<GuestTables>,
  question: Question,
  port: MessagePort,
): Promise<void> {
  port.postMessage(await answer(store, question));
  if (question.name === 'close') port.close();
}

async function answer(store: Store & Partial<GuestTables>, { id, name, args }: Question): Promise<Reply> {
  try {
    const method = store[name] as (...given: readonly unknown[]) => Promise<unknown>;
    return { id, value: await method.apply(store, [...args]) };
  } catch (error) {
    const trouble = error instanceof StoreUnavailable ? error.trouble : 'unavailable';
    return { id, trouble, message: (error as Error).message };
  }
}
