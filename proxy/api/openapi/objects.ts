// How calls that make, read and change teams and what stands beside them are described.
import { json, type Described, type JsonSchema } from './operation.ts';

/** Most of these calls refuse the same. */
export const READS = ['management_denied'] as const;
export const FINDS = ['object_not_found', 'management_denied'] as const;
const MAKES = ['invalid_fields', 'invalid_object', 'object_exists', 'management_denied'] as const;
export const CHANGES = [
  'invalid_fields',
  'invalid_object',
  'object_not_found',
  'object_conflict',
  'object_in_config',
  'management_denied',
] as const;

export const makes = (
  tag: string,
  path: string,
  summary: string,
  body: JsonSchema,
  answer: JsonSchema,
): Described => ({
  route: `POST ${path}`,
  tag,
  summary,
  body,
  answers: json(answer),
  codes: [...MAKES, 'object_taken', 'object_not_found'],
});
export const changes = (
  tag: string,
  route: string,
  summary: string,
  body: JsonSchema,
  answer: JsonSchema,
): Described => ({
  route: route.includes(' ') ? route : `POST ${route}`,
  tag,
  summary,
  body,
  answers: json(answer),
  codes: CHANGES,
});
