// Tags in the description of the API.
import { id, schemaOf, texts } from '../access/fields.ts';
import { TAG_BODY } from '../access/tags.ts';
import { ANY_OBJECT, json, listOf, object, parameter, TEXT, type Described } from './operation.ts';

const CHANGES = [
  'invalid_fields',
  'invalid_object',
  'object_not_found',
  'object_conflict',
  'management_denied',
] as const;
const CHANGED = json(object({ message: TEXT, tag: ANY_OBJECT }));

export const TAG_OPERATIONS: readonly Described[] = [
  {
    route: 'POST /tag/new',
    tag: 'tags',
    summary: 'States a tag, with a budget and limits for the calls that carry it.',
    body: schemaOf(TAG_BODY, ['name']),
    answers: CHANGED,
    codes: ['invalid_fields', 'invalid_object', 'object_exists', 'object_conflict', 'management_denied'],
  },
  {
    route: 'POST /tag/update',
    tag: 'tags',
    summary: 'Changes a tag. What is not sent stays.',
    body: schemaOf(TAG_BODY, ['name']),
    answers: CHANGED,
    codes: CHANGES,
  },
  {
    route: 'POST /tag/info',
    tag: 'tags',
    summary: 'Tags by their names.',
    body: schemaOf({ names: texts }, ['names']),
    answers: json(ANY_OBJECT),
    codes: ['invalid_fields', 'object_not_found', 'management_denied'],
  },
  {
    route: 'GET /tag/list',
    tag: 'tags',
    summary: 'All tags: those that are stated, and those that calls have carried.',
    query: [
      parameter('start_date', 'Of tags that nobody has stated: first day on which they were carried.'),
      parameter('end_date', 'Last day.'),
    ],
    answers: json(listOf(ANY_OBJECT)),
    codes: ['invalid_parameter', 'invalid_object', 'management_denied', 'store_unavailable'],
  },
  {
    route: 'POST /tag/delete',
    tag: 'tags',
    summary: 'Deletes what is stated of a tag; calls may carry it on.',
    body: schemaOf({ name: id }, ['name']),
    answers: json(object({ message: TEXT })),
    codes: CHANGES,
  },
];
