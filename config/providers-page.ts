// Renders the page of the kinds of upstream (Markdown) from their table alone. Pure; used by generate.ts.
import { DEFAULT_WORDS, dialectOf } from './dialect.ts';
import type { Kind } from './resolve/kinds/kind.ts';
import { SIGNED } from './resolve/kinds/signed.ts';
import { KINDS } from './resolve/kinds/table.ts';

const DIALECT = dialectOf(DEFAULT_WORDS);

const INTRO = `# Providers

<!-- Generated from config/resolve/kinds/ by \`node config/generate.ts\`; never edit by hand. -->

What stands in front of the first slash of \`litellm_params.model\` says what kind of upstream an entry leads to. The frame is a
chain: \`litellm_proxy/\` for a gateway of LiteLLM's kind, \`openai/\` for anything with an OpenAI-compatible API. Beside them stand
the vendors that files of LiteLLM name, so that such a file is served as it is:

\`\`\`yaml
model_list:
  - model_name: claude-sonnet
    litellm_params:
      model: anthropic/claude-sonnet-4-5 # ANTHROPIC_API_KEY is read; api_base is known
  - model_name: gpt-4o
    litellm_params:
      model: azure/my-deployment
      api_base: https://my-resource.openai.azure.com # the address of the resource alone
      api_version: "2024-10-21" # or v1
      api_key: os.environ/AZURE_API_KEY
  - model_name: local
    litellm_params:
      model: ollama/llama3.2 # http://localhost:11434
\`\`\`

`;

const RULES = `
- **Address.** \`api_base\` wins; then the first variable that is set; then the known address. \`openai/\` without \`api_base\` leads to
  OpenAI only for names that are known as OpenAI's and for patterns: another name is a forgotten \`api_base\`, and refused.
- **Path.** \`/v1\` is added to an \`api_base\` that has no version where the table says so; elsewhere endpoints are appended to it as
  it is. For \`openai/\` any version counts (\`/openai/v1\`, \`/api/paas/v4\`, \`/v1beta/openai\`), and the addresses of vendors
  that have none are known (\`models.github.ai/inference\`, \`/serving-endpoints\` of Databricks, \`api.githubcopilot.com\`,
  \`api.deepseek.com\`, ...). \`gemini/\` gets \`/v1beta\` where the path has no version anywhere: \`/v1\`, \`/v1beta\` and
  \`https://aiplatform.googleapis.com/v1/publishers/google\` are used as they are. \`azure/\` gets \`/openai/deployments/NAME/...?api-version=...\`, with the versions \`v1\`, \`latest\` and \`preview\`
  \`/openai/v1/...\`; a client's own \`api-version\` does not go there.
- **Name.** \`responses/\` behind the prefix (\`azure/responses/NAME\`, \`openai/responses/NAME\`) does not go upstream: it says that the model is
  asked by responses, as models of the mode \`responses\` are ([which API goes where](endpoints.md#which-api-goes-where)).
- **Key.** \`api_key\` goes into the header of the vendor. Without one, the first variable that is set goes to the vendor's own host,
  or to the address that the vendor's own variable names, and nowhere else. Models of \`/model/new\` read no variables unless
  \`general_settings.runtime_models.allow_references\` is on. Credentials of clients go to no upstream.
- **Tokens.** A key of \`anthropic/\` that begins with \`sk-ant-oat\` is a token of a sign-in (\`claude setup-token\`): it goes as
  \`Authorization: Bearer\`, with \`oauth-2025-04-20\` among the values of \`anthropic-beta\`. \`azure/\` takes a token of Microsoft
  Entra as \`azure_ad_token\` (\`azure_ad_token_file\` where something renews it), which goes as \`Authorization: Bearer\` instead
  of a key. Nothing here asks Entra for one: without \`api_key\`, an entry of \`azure/\` that states \`tenant_id\`, \`client_id\`,
  \`client_secret\` or \`azure_ad_token_provider\` is refused.
- **Protocols.** What an upstream does not speak is not sent to it as it is. Empty: it depends on the server.
- **Members.** \`mistral/\` and \`perplexity/\` get no \`stream_options\`, which they refuse; their streams state the usage unasked.
  \`mistral/\` gets \`name\` in messages of the role \`tool\` alone, for it refuses any other.
  \`fireworks_ai/NAME\` is sent as \`accounts/fireworks/models/NAME\`, \`NAME-fast\` and \`auto\` as \`accounts/fireworks/routers/NAME\`. \`anthropic/\` gets \`anthropic-version\`, and the client's
  \`anthropic-beta\`. Nothing else of a body is changed for a vendor.
- **Names without a prefix** mean OpenAI where they are known as OpenAI's (\`gpt-4o\`, \`o3\`, \`text-embedding-3-small\`,
  \`ft:gpt-...\`), Anthropic for \`claude-...\`. Any other name is refused with these rules.
- \`ollama/\` and \`ollama_chat/\` use [its OpenAI-compatible API](https://docs.ollama.com/api/openai-compatibility).
`;

/** The page. */
export function providersPage(): string {
  const rows = KINDS.map(row);
  const table = [
    '| Prefix | Address without `api_base` | Its variables | Key: header | Its variables | `/v1` | Protocols |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
  const signed = [...Map.groupBy(SIGNED, ([, needs]) => needs)].map(
    ([needs, names]) => `${names.map(([prefix]) => `\`${prefix}/\``).join(', ')} (${needs})`,
  );
  const left = `\n## Left out\n\n${signed.join('; ')}: their calls need more than a key. Let a gateway that makes it stand in front of
them and write \`litellm_proxy/NAME\`, or leave such entries out with \`general_settings.skip_unsupported_models\`. Providers of
LiteLLM that are not in the table (Cohere's own API, watsonx, Replicate ...) are reached the same way.
`;
  return `${INTRO}${table.join('\n')}\n${RULES}${left}`;
}

function row(kind: Kind): string {
  const { known } = kind;
  const header =
    kind.credentialHeader === 'authorization' ? '`Authorization: Bearer`' : code(kind.credentialHeader);
  return [
    '',
    code(`${kind.prefix(DIALECT)}/`),
    known.base === null ? 'none' : known.base,
    known.baseVariables.map(code).join(', '),
    header,
    known.keyVariables.map(code).join(', '),
    versionRule(kind),
    kind.serves === null ? '' : [...kind.serves].join(', '),
    '',
  ]
    .join(' | ')
    .trim();
}

/** What becomes of a path without a version. */
function versionRule(kind: Kind): string {
  const check = kind.pathPrefix('/x', 'v1', '');
  if (!check.ok) return 'must be there';
  const added = check.pathPrefix.slice('/x'.length);
  if (added === '') return 'as it is';
  return kind.name === 'proxy' ? 'must not be there' : `\`${added}\` is added`;
}

const code = (text: string): string => `\`${text}\``;
