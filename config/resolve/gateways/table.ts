// All gateway dialects, and the default for an entry that names none. A new one is a file beside this one, a line here
// and its name in the schema.
import type { Dialect } from '../../dialect.ts';
import type { EntryParams } from '../../gateway-file.ts';
import type { KindName } from '../../kind-names.ts';
import { bifrost } from './bifrost.ts';
import type { Gateway, GatewayMaker } from './gateway.ts';
import { litellm } from './litellm.ts';
import { none } from './none.ts';
import { plain } from './plain.ts';
import { portkey } from './portkey.ts';

export type GatewayName = NonNullable<EntryParams['gateway']>;

const MAKERS: Readonly<Record<GatewayName, GatewayMaker>> = Object.freeze({
  litellm,
  bifrost,
  portkey,
  plain,
  none,
});

/** Vendors read no identity from headers: they get none. */
const DEFAULTS: Readonly<Partial<Record<KindName, GatewayName>>> = { proxy: 'litellm', compat: 'plain' };

/** The dialect that an entry names, else the default of its kind. */
export function gatewayOf(named: GatewayName | undefined, kind: KindName, dialect: Dialect): Gateway {
  return MAKERS[named ?? DEFAULTS[kind] ?? 'none'](dialect);
}
