// The members that the body of a call is read for: those that the proxy acts on, those that are the dialect's own, and which
// names are other spellings of them.
import { pathOf, type SteeringTable } from '../../config/resolve/gateways/parameters.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { maySteer } from '../bodies/steering.ts';
import type { TextBeginnings } from '../bodies/text-beginnings.ts';
import { NEEDED_MEMBERS } from '../protocols/needs.ts';
import { PROTOCOLS } from '../protocols/table.ts';
import { spellings } from '../protocols/gemini-spelling.ts';
import { FOREIGN_SIGNATURES } from '../protocols/translation/foreign-signatures.ts';
import { SETTING_MEMBERS } from '../protocols/translation/stated-settings.ts';

/** Names of the members a body may carry that the proxy acts on; see `pipeline/parse-request.ts`. */
interface WantedMembers {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
  readonly also: (name: string) => boolean;
  readonly texts: TextBeginnings;
}

/** The dialect's control members: read or ignored here, never shown to a compat-type upstream. */
const CONTROL_MEMBERS: ReadonlySet<string> = new Set([
  'metadata',
  'tags',
  'guardrails',
  'cache',
  'caching',
  'ttl',
  'num_retries',
  'max_retries',
  'fallbacks',
  'context_window_fallbacks',
  'context_window_fallback_dict',
  'disable_fallbacks',
  'base_model',
  'mock_response',
  'mock_tool_calls',
  'mock_timeout',
  'no-log',
  'model_info',
  'proxy_server_request',
  'secret_fields',
  'rpm',
  'tpm',
  'region_name',
  'extra_headers',
  'spend_logs_metadata',
]);

/** Whether a member is one of the dialect's own, which compat-type upstreams never see. */
export const isControlMember = (name: string, brand: string): boolean =>
  CONTROL_MEMBERS.has(name) || name.startsWith(`${brand}_`);

/** Members that every call is read for, beside those of the dialect. */
const READ_MEMBERS: readonly string[] = [
  'model',
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'n',
  'best_of',
  ...PROTOCOLS.flatMap(({ outputLimits = [], choiceCounts = [], tierMembers = [], backgroundFlag = [] }) =>
    [outputLimits, choiceCounts, tierMembers, backgroundFlag]
      .flat()
      .map((name) => name.split('.', 1)[0] ?? name),
  ),
  'service_tier',
  'metadata',
  'tags',
  'previous_response_id',
];

/** Those of them that hold further members or a list; the others are text, numbers and flags. */
const NESTED_MEMBERS: readonly string[] = [
  'stream_options',
  'metadata',
  'tags',
  'fallbacks',
  ...spellings('generationConfig'),
];

/** Where the runaway brake finds what is said. Their places are noted, they are not read whole. */
const CONVERSATION_MEMBERS: readonly string[] = PROTOCOLS.flatMap(({ conversation }) =>
  conversation === undefined
    ? []
    : [conversation.member, conversation.instructions, conversation.stored].flat(),
);

/** Names in bodies are the client's to choose; what is remembered of them is not. */
const MOST_NAMES = 2_048;
const LONG_NAME = 64;

function remembered(decide: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const decided = decide(name);
    if (known.size < MOST_NAMES && name.length <= LONG_NAME) known.set(name, decided);
    return decided;
  };
}

/** Members that entries state, and those by which clients say the same: none where no entry states any. */
function statedNames(deployments: readonly Deployment[]): readonly string[] {
  const stated = deployments.flatMap(({ statedMembers }) => statedMembers ?? []);
  const extra = stated.flatMap((one) => one.extra.map(([name]) => name));
  const settings = stated.some((one) => Object.keys(one.settings).length > 0) ? SETTING_MEMBERS : [];
  return [
    ...settings,
    ...PROTOCOLS.flatMap(({ spellings: of }) => extra.flatMap((name) => of?.(name) ?? [name])),
  ];
}

/** What the bodies of calls are read for under one configuration. */
export class ReadMembers {
  /** Names of the dialect's members that say whose call it is: put together once, not by every call. */
  readonly ofDialect: Readonly<Record<'session' | 'trace' | 'metadata', string>>;
  /** Members whose values are read. */
  readonly names: ReadonlySet<string>;
  readonly wanted: WantedMembers;
  /**
   * Whether a member is another spelling of one that is read. Go's JSON decoder takes `MODEL` for `model`, and a reader of forms
   * takes `model[]` for it (LiteLLM does), so an upstream could serve another model than the one that was selected and recorded.
   */
  readonly isTwin = remembered((name) => this.#isTwin(name));
  /** Whether a member may steer one of the gateways of the configuration. */
  readonly maySteer: (name: string) => boolean;
  readonly #nested: ReadonlySet<string>;

  constructor({ dialect, deployments, brake }: Snapshot, steeringTables: readonly SteeringTable[]) {
    const { brand, metadataMember: metadata } = dialect;
    this.ofDialect = { session: `${brand}_session_id`, trace: `${brand}_trace_id`, metadata };
    const takesFallbacks = deployments.some((one) => one.allowedClientParameters.has('fallbacks'));
    this.names = new Set([
      ...READ_MEMBERS,
      ...(takesFallbacks ? ['fallbacks'] : []),
      ...Object.values(this.ofDialect),
    ]);
    this.#nested = new Set([...NESTED_MEMBERS, metadata]);
    this.maySteer = remembered((name) => maySteer(steeringTables, name));
    this.wanted = {
      names: new Set([
        ...this.names,
        ...CONTROL_MEMBERS,
        ...NEEDED_MEMBERS,
        ...(brake === null ? [] : CONVERSATION_MEMBERS),
        ...statedNames(deployments),
      ]),
      prefixes: [`${brand}_`],
      also: (name) => this.isTwin(name) || this.maySteer(name),
      texts: FOREIGN_SIGNATURES,
    };
  }

  #isTwin(name: string): boolean {
    if (this.names.has(name)) return false;
    const [first = ''] = pathOf(name);
    return this.names.has(first) && !(name.includes('[') && this.#nested.has(first));
  }
}
