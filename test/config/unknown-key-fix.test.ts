// What is said about an unknown key. The keys stand in files of LiteLLM that others published.
import t from 'tap';
import { checkText } from '../../config/check-text.ts';
import { below, SCHEMA } from '../../config/schema.ts';
import { unknownKeyFix } from '../../config/unknown-key-fix.ts';
import type { Path } from '../../config/tree.ts';

function fixOf(path: Path): string {
  let schema = SCHEMA;
  for (const step of path.slice(0, -1)) schema = below(schema, step) ?? {};
  return unknownKeyFix(String(path.at(-1)), schema, path);
}

const SAID: readonly (readonly [path: Path, fix: RegExp])[] = [
  [['general_settings', 'master_keys'], /^did you mean master_key\?$/],
  [['general_settings', 'masterkey'], /^did you mean master_key\?$/],
  [
    ['general_settings', 'redis_password'],
    /^it belongs under router_settings, or as password under litellm_settings\.cache_params$/,
  ],
  [
    ['general_settings', 'redis_host'],
    /^it belongs under router_settings, or as host under litellm_settings\.cache_params$/,
  ],
  [['general_settings', 'port'], /^remove it; start with --port$/],
  [['general_settings', 'num_workers'], /general_settings\.workers/],
  [['general_settings', 'drop_params'], /^it belongs under litellm_settings$/],
  [['litellm_settings', 'max_parallel_requests'], /^it belongs under general_settings$/],
  [
    ['general_settings', 'json_logs'],
    /^remove it: its place in LiteLLM is litellm_settings, and nothing here reads it there$/,
  ],
  [['litellm_settings', 'mcp_servers'], /^remove it: its place in LiteLLM is the top level/],
  [
    ['router_settings', 'custom_auth'],
    /^remove it: its place in LiteLLM is general_settings, and nothing here enforces it$/,
  ],
  [['model_list', 0, 'litellm_params', 'rpm_limit'], /^did you mean rpm\?$/],
  [['model_list', 0, 'rpm'], /^it belongs under litellm_params of a model_list entry$/],
  // The opposite, what is refused as well, and what only ends alike.
  [['general_settings', 'enable_admin_ui'], /^remove it; see/],
  [['general_settings', 'disable_master_key_hashing'], /^remove it; see/],
  [['general_settings', 'enable_oauth'], /^remove it; see/],
  [['general_settings', 'custom_aut'], /^remove it; see/],
  [['general_settings', 'health_check_endpoint'], /^remove it; see/],
  [['database_settings'], /^remove it; the keys here are/],
  [['metadata'], /^remove it; the keys here are/],
];

t.test('what is said of an unknown key would help', async (t) => {
  for (const [path, fix] of SAID) t.match(fixOf(path), fix, path.join('.'));
});

const lines = (text: string): string[] =>
  checkText('f.yaml', text, {}).map(({ line, path, message, fix }) => `${line} ${path}: ${message} - ${fix}`);

t.test('a file of another kind gets one sentence', async (t) => {
  t.strictSame(
    lines(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { config.yaml: "model_list: []" }\n',
    ),
    [
      "1 : this is an object of Kubernetes ('ConfigMap'), no configuration - save the part that begins with model_list as a file of its own; `throughline import litellm` says where one stands in this",
    ],
  );
  t.strictSame(lines('replicaCount: 1\nimage: { tag: a }\ntls: {}\nproxy_config: { model_list: [] }\n'), [
    '1 : these are the values of a Helm chart, no configuration - `throughline import litellm` reads them',
  ]);
  t.strictSame(lines('ingress: {}\nsandbox: {}\ngateway: {}\nkeys: {}\nimage: { tag: a }\n'), [
    '1 : these are the values of a Helm chart, no configuration - name the file with model_list; values with proxy_config are read by `throughline import litellm`',
  ]);
});

t.test('a configuration with a key of a chart in it is a configuration', async (t) => {
  t.match(
    lines('model_list: []\nimage: {}\nreplicaCount: 1\n').join('\n'),
    /^2 image: unknown key[^]*3 replicaCount: unknown key/,
  );
  t.match(lines('general_settings: {}\nresources: {}\nimage: {}\n').join('\n'), /2 resources: unknown key/);
});
