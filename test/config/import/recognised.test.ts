import t from 'tap';
import { importLitellm } from '../../../config/import/litellm.ts';
import { formatIssue } from '../../../config/issue.ts';

function refusal(text: string, included = ''): string {
  const result = importLitellm('x.yaml', text, (name) => ({ ok: true, name, text: included }));
  return result.ok ? '' : result.issues.map(formatIssue).join('\n');
}

const NEITHER = 'x.yaml neither model_list nor proxy_config is at its top level, so this is no configuration';

t.test('a file of something else is refused, and told where in it a configuration stands', async (t) => {
  const nowhere = `${NEITHER} - name the config.yaml of LiteLLM, or the values of its chart`;
  const cases = [
    ['foo: 1', nowhere],
    ['services: {litellm: {image: x, command: ["--config", "model_list.yaml"]}}', nowhere],
    ['environment_variables: {A: b}', nowhere],
    [
      'kind: HelmRelease\nspec: {values: {proxy_config: {model_list: []}}}',
      `${NEITHER}; one stands under spec.values.proxy_config - save that part as a file of its own, and import that`,
    ],
    [
      'kind: List\nitems:\n  - spec: {config: {model_list: []}}',
      `${NEITHER}; one stands under items[0].spec.config.model_list - save that part as a file of its own, and import that`,
    ],
    [
      'kind: Application\nspec:\n  source:\n    helm:\n      values: |\n        proxy_config:\n          model_list: []\n',
      `${NEITHER}; one stands in the text at spec.source.helm.values - save that part as a file of its own, and import that`,
    ],
    [
      'kind: ConfigMap\ndata:\n  config.yaml: |\n    model_list: []\n',
      `${NEITHER}; one stands in the text at data.config.yaml - save that part as a file of its own, and import that`,
    ],
  ] as const;
  for (const [text, words] of cases) t.equal(refusal(text), words, text);
  t.equal(refusal('include: [a.yaml]', 'foo: 1'), nowhere);
});

t.test('a configuration may leave its models elsewhere', async (t) => {
  for (const text of [
    'general_settings: {store_model_in_db: true}',
    'litellm_settings: {}',
    'router_settings: {num_retries: 1}',
    'proxy_config: {}',
  ])
    t.equal(refusal(text), '', text);
  t.equal(refusal('include: [a.yaml]', 'model_list: []'), '');
});
