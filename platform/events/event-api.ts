// The events of a conversation: asked of its agent server while that can be reached, else of what was kept; and what agent
// servers report of them.
import { invalidValue, refuse, Refusal } from '../api/refusal.ts';
import type { Handler, OperationCall } from '../api/router.ts';
import type { Conversations } from '../conversations/conversations.ts';
import type { RuntimeViews } from '../runtime/runtime-views.ts';
import { hexOf, timeOf } from '../ids.ts';
import { isTree } from '../settings/secrets.ts';
import type { Runtime, Runtimes } from '../runtime/runtimes.ts';
import { newEventOf } from './event.ts';
import type { EventFilter, KeptEvents } from './kept-events.ts';

interface EventApiParts {
  readonly runtimes: Runtimes;
  readonly conversations: Conversations;
  readonly kept: KeptEvents;
  readonly views: RuntimeViews;
}

const MAX_IDS = 100;
/** A page of 100 events with long outputs and screenshots. */
const PAGE_BYTES = 32 * 1024 * 1024;
/** What keeps from asking an agent server; anything else is an answer of its own. */
const UNREACHABLE: ReadonlySet<number> = new Set([404, 409, 410, 502, 503, 504]);

/** The handlers, by operation id. */
export function eventApi({ runtimes, conversations, kept, views }: EventApiParts): Record<string, Handler> {
  /** The agent server's answer, else what was kept, else why the agent server could not be asked. */
  const either = async <R>(
    { userId, path }: OperationCall,
    live: (runtime: Runtime) => Promise<R>,
    stored: (conversationId: string) => Promise<R | null>,
    none: R,
  ): Promise<{ readonly body: R }> => {
    const conversation = await runtimes.conversation(userId, idIn(path));
    const { id } = conversation;
    // A page opens a conversation before its agent server runs, and takes an error for one.
    if (runtimes.sandboxOf(conversation)?.status === 'STARTING') return { body: none };
    try {
      return { body: await live(await runtimes.of(userId, id)) };
    } catch (thrown) {
      if (!(thrown instanceof Refusal) || !UNREACHABLE.has(thrown.status)) throw thrown;
      const found = await stored(id);
      if (found === null) throw thrown;
      return { body: found };
    }
  };
  return {
    searchEvents: (call) => {
      const { query } = call;
      const limit = Number(query['limit'] ?? MAX_IDS);
      const newest = query['sort_order'] === 'TIMESTAMP_DESC';
      const from = textIn(query, 'page_id');
      return either<unknown>(
        call,
        async (runtime) => {
          const path = `${runtime.conversationPath}/events/search`;
          const order = newest ? 'TIMESTAMP_DESC' : 'TIMESTAMP';
          const sent = { ...filterSent(query), page_id: from, limit, sort_order: order };
          const page = await runtime.json({ method: 'GET', path, query: sent, maxBytes: PAGE_BYTES });
          if (!isTree(page) || !Array.isArray(page['items']))
            throw refuse(502, 'The agent server did not answer with a page of events');
          const next = page['next_page_id'];
          return { items: page['items'] as unknown, next_page_id: typeof next === 'string' ? next : null };
        },
        (id) => kept.search(id, filterOf(query), { order: newest ? 'newest' : 'oldest', from, limit }),
        { items: [], next_page_id: null },
      );
    },
    countEvents: (call) =>
      either<unknown>(
        call,
        async (runtime) => {
          const path = `${runtime.conversationPath}/events/count`;
          const count = await runtime.json({ method: 'GET', path, query: filterSent(call.query) });
          if (!Number.isSafeInteger(count) || Number(count) < 0)
            throw refuse(502, 'The agent server did not answer with a number');
          return count;
        },
        (id) => kept.count(id, filterOf(call.query)),
        0,
      ),
    getEvents: (call) => {
      const ids = call.query['id'] as readonly string[];
      if (ids.length > MAX_IDS)
        throw refuse(400, `Cannot request more than ${MAX_IDS} events at once, got ${ids.length}`);
      return either<unknown>(
        call,
        // The agent server takes the ids as the body of a GET.
        async (runtime) => {
          const path = `${runtime.conversationPath}/events`;
          const events = await runtime.json({ method: 'GET', path, body: ids, maxBytes: PAGE_BYTES });
          if (!Array.isArray(events))
            throw refuse(502, 'The agent server did not answer with a list of events');
          return events as unknown;
        },
        (id) => kept.get(id, ids),
        ids.map(() => null),
      );
    },
    reportEvents: async ({ sandboxId, path, body }) => {
      const conversation = await conversations.find(idIn(path));
      // One that its agent server began by itself is no conversation of this interface; a refusal would be sent again.
      if (conversation !== null && conversation.sandboxId !== sandboxId)
        throw refuse(403, 'The conversation belongs to another sandbox');
      if (conversation === null) return { body: { success: true } };
      const events = body as readonly unknown[];
      await kept.keep(
        conversation,
        events.flatMap((value) => newEventOf(value) ?? []),
      );
      if ((await conversations.find(conversation.id)) === null) {
        await kept.forget(conversation.id); // it was deleted meanwhile, and what was kept of it before this
        return { body: { success: true } };
      }
      await views.noteEvents(conversation, events);
      return { body: { success: true } };
    },
  };
}

type Query = OperationCall['query'];

function textIn(query: Query, name: string): string | null {
  const value = query[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The filter in the names of the agent server. */
function filterSent(query: Query): Record<string, string | null> {
  return {
    kind: textIn(query, 'kind__eq'),
    timestamp__gte: textIn(query, 'timestamp__gte'),
    timestamp__lt: textIn(query, 'timestamp__lt'),
  };
}

function filterOf(query: Query): EventFilter {
  const kind = textIn(query, 'kind__eq');
  const fromMs = timeIn(query, 'timestamp__gte');
  const beforeMs = timeIn(query, 'timestamp__lt');
  return {
    ...(kind === null ? {} : { kind }),
    ...(fromMs === null ? {} : { fromMs }),
    ...(beforeMs === null ? {} : { beforeMs }),
  };
}

function timeIn(query: Query, name: string): number | null {
  const text = textIn(query, name);
  if (text === null) return null;
  const ms = timeOf(text);
  if (ms === null) throw invalidValue(['query', name], 'the input is no date and time');
  return ms;
}

function idIn(path: Readonly<Record<string, string>>): string {
  const id = hexOf(path['conversation_id'] ?? '');
  if (id === null) throw invalidValue(['path', 'conversation_id'], 'the input is no UUID');
  return id;
}
