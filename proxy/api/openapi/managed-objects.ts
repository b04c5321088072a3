// What calls about teams, customers, budgets, organizations and access groups have in common in the description of the API: most
// refuse the same.
import { json, type Described, type JsonSchema } from './operation.ts';

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
