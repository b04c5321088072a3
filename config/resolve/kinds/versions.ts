// Which addresses are whole: endpoints are appended to them, and nothing before. A version in the path says so, whatever its
// number, and some vendors have none.

/** A step of a path: `/v1`, `/v4`, `/v1beta`, `/v1beta1`. */
export const VERSION = /\/v\d[a-z0-9]*(?:\/|$)/;

/** Hosts and paths of OpenAI-compatible APIs without a version, as their vendors document them. */
const WITHOUT_VERSION: readonly string[] = [
  'api(?:\\.[a-z-]+)?\\.githubcopilot\\.com',
  'api\\.deepseek\\.com(?:/beta)?',
  'api\\.novita\\.ai/openai',
  'api\\.perplexity\\.ai',
  'models\\.github\\.ai(?:/orgs/[^/]+)?/inference',
  'models\\.inference\\.ai\\.azure\\.com',
  '[^/]+\\.models\\.ai\\.azure\\.com',
  '[^/]+\\.(?:cloud\\.databricks\\.com|gcp\\.databricks\\.com|azuredatabricks\\.net)/serving-endpoints',
];

/** Of the host and the path of an address, for readers of other languages: the same as regular expressions of RE2. */
export const WHOLE_BASES = `${VERSION.source}|^(?:${WITHOUT_VERSION.join('|')})$`;

const WHOLE = new RegExp(WHOLE_BASES);

/** @param path without trailing slashes */
export const isWhole = (host: string, path: string): boolean => WHOLE.test(`${host}${path}`);
