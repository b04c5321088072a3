// Recordings of calls in the description of the API.
import { BOOL, COUNT, json, listOf, NUMBER, object, orNull, TEXT, type Described } from './operation.ts';

const tag = 'capsules';
const ORDER = object({
  id: TEXT,
  key_hash: orNull('string'),
  session_id: orNull('string'),
  bodies: BOOL,
  created_at: TEXT,
  until: TEXT,
  created_by: TEXT,
});

export const CAPSULE_OPERATIONS: readonly Described[] = [
  {
    route: 'POST /capsules',
    tag,
    summary: 'Records the calls of a key or a conversation for a time.',
    body: {
      type: 'object',
      properties: {
        key: { type: 'string', description: 'A key, its SHA-256 or its alias.' },
        session_id: { type: 'string', description: 'A conversation; either this or `key`.' },
        minutes: { type: 'number', exclusiveMinimum: 0, maximum: 1440, default: 15 },
        bodies: {
          type: 'boolean',
          default: false,
          description: 'Keep what is said, sealed; general_settings.capsules.keep_bodies allows it.',
        },
      },
    },
    answers: json(ORDER),
    codes: ['capsules_off', 'invalid_parameter', 'capsules_unwritable', 'store_unavailable'],
  },
  {
    route: 'GET /capsules',
    tag,
    summary: 'What is recorded now, and the files of this server, the newest first.',
    answers: json(
      object({
        orders: listOf(ORDER),
        capsules: listOf(object({ id: TEXT, bytes: COUNT, written_at: TEXT })),
        bytes: COUNT,
        dropped: object({ busy: NUMBER, write_failed: NUMBER }),
      }),
    ),
    codes: ['capsules_off', 'capsules_unwritable', 'store_unavailable'],
  },
  {
    route: 'GET /capsules/{id}',
    tag,
    summary: 'One file as it is: lines of JSON, see docs/find-a-fault.md. The id is that of the call.',
    answers: { 'application/jsonl': {} },
    codes: ['capsules_off', 'capsule_not_found', 'capsules_unwritable'],
  },
  {
    route: 'DELETE /capsules/{id}',
    tag,
    summary: 'Ends a recording, or removes a file.',
    answers: json(object({ id: TEXT, deleted: BOOL })),
    codes: ['capsules_off', 'capsule_not_found', 'capsules_unwritable', 'store_unavailable'],
  },
];
