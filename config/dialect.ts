// Every third-party name in one place: model prefixes, header brand, SDK prefix, environment marker. No other file
// hard-codes these words in a rule, so supporting another family of proxies only takes configuration.
import { ownText } from './own-text.ts';

/** The brand words as an operator may set them (`general_settings.dialect`). */
interface DialectWords {
  /** Proxy-type brand: prefix `<brand>_proxy/`, headers `x-<brand>-*`, body members `<brand>_*`. */
  readonly brand: string;
  /** Compat-type prefix: `<compat>/REST`; also the prefix of the internal registry in model lists. */
  readonly compat: string;
  /** SDK telemetry headers `x-<sdk>*`, which are never forwarded. */
  readonly sdk: string;
}

/** The brand words and every name derived from them, computed once per snapshot. */
export interface Dialect extends DialectWords {
  /** e.g. `litellm_proxy`: text before the first slash of a proxy-type model. */
  readonly proxyPrefix: string;
  /** e.g. `openai`. */
  readonly compatPrefix: string;
  /** e.g. `x-litellm-`: namespace of our request and response headers. */
  readonly headerPrefix: string;
  /** e.g. `x-stainless`, without a trailing dash: the dialect compares it this way. */
  readonly sdkHeaderPrefix: string;
  /** e.g. `x-litellm-session-id`: the reserved name. */
  readonly sessionHeader: string;
  /** e.g. `x-litellm-spend-logs-metadata`. */
  readonly spendMetadataHeader: string;
  /** e.g. `litellm_metadata`: a member of bodies. */
  readonly metadataMember: string;
  /** Where a call may name its session or its trace, as records say it: `body.litellm_session_id`. */
  readonly sessionSources: Readonly<Record<'header' | 'member' | 'traceHeader' | 'traceMember', string>>;
}

/** Marks a value that is read from the environment: `os.environ/NAME`. */
export const ENV_MARKER = 'os.environ/';

export const DEFAULT_WORDS: DialectWords = { brand: 'litellm', compat: 'openai', sdk: 'stainless' };

/** Derives every name from the three brand words. */
export function dialectOf(words: DialectWords): Dialect {
  const { brand } = words;
  const sessionHeader = ownText(`x-${brand}-session-id`);
  return Object.freeze({
    ...words,
    proxyPrefix: `${brand}_proxy`,
    compatPrefix: words.compat,
    headerPrefix: `x-${brand}-`,
    sdkHeaderPrefix: `x-${words.sdk}`,
    sessionHeader,
    spendMetadataHeader: `x-${brand}-spend-logs-metadata`,
    metadataMember: `${brand}_metadata`,
    sessionSources: Object.freeze({
      header: sessionHeader,
      member: ownText(`body.${brand}_session_id`),
      traceHeader: ownText(`x-${brand}-trace-id`),
      traceMember: ownText(`body.${brand}_trace_id`),
    }),
  });
}
