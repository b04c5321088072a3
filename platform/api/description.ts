// The interface's description: one OpenAPI document put together from schemas/platform.json (paths, V1), a file of
// schemas/platform/ per further subject, and schemas/settings.json (V0). It is what is served, and what the router and
// the validators are made of.
import v1 from '../../schemas/platform.json' with { type: 'json' };
import webhooks from '../../schemas/platform/webhooks.json' with { type: 'json' };
import v0 from '../../schemas/settings.json' with { type: 'json' };

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  /** Names of security schemes; one of them is enough. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** Where the default of the router does not do. */
  readonly 'x-max-body-bytes'?: number;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

export interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Paths and schemas of one subject. */
type Subject = Pick<Description, 'paths' | 'components'>;

/** The import's inferred type spells every member out; this is what they share. */
const subject = (document: object): Subject => document as unknown as Subject;

/** One per file. A path and a schema stand in one of them alone, and a path has all its methods there. */
const SUBJECTS: readonly Subject[] = [subject(webhooks)];

/** The whole document. */
export function description(): Description {
  const document = v1 as unknown as Description;
  let paths = document.paths;
  let schemas = {
    ...document.components.schemas,
    ...(rebased(v0.$defs) as Readonly<Record<string, Schema>>),
  };
  for (const part of SUBJECTS) {
    paths = { ...paths, ...part.paths };
    schemas = { ...schemas, ...part.components.schemas };
  }
  return { ...document, paths, components: { ...document.components, schemas } };
}

/** References within settings.json, as they read inside the OpenAPI document. */
function rebased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rebased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', '#/components/schemas/')
        : rebased(inner),
    ]),
  );
}
