// A working address stays the one that LiteLLM calls.
import t from 'tap';
import { parse as parseYaml } from 'yaml';
import { importLitellm, type Imported } from '../../../config/import/litellm.ts';

function imported(model: string, base: string): Imported {
  const text = `model_list:\n  - {model_name: a, litellm_params: {model: ${model}/a, api_base: '${base}', api_key: os.environ/K}}\n`;
  const result = importLitellm('x.yaml', text, () => ({ ok: false, message: 'does not exist' }));
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.imported;
}

t.test('the address of an OpenAI-compatible API stays as it is', async (t) => {
  for (const model of ['openai', 'custom_openai'])
    for (const base of [
      'https://api.z.ai/api/paas/v4',
      'https://open.bigmodel.cn/api/paas/v4/',
      'https://ark.cn-beijing.volces.com/api/v3',
      'https://qianfan.baidubce.com/v2',
      'https://models.github.ai/inference',
      'https://dbc-1.cloud.databricks.com/serving-endpoints',
      'https://models.inference.ai.azure.com',
      'https://api.githubcopilot.com',
      'https://gateway.example.com/openai',
      'http://localhost:8080',
    ]) {
      const { text, findings, unresolved } = imported(model, base);
      t.match(parseYaml(text), { model_list: [{ litellm_params: { api_base: base } }] }, base);
      t.strictSame(unresolved, []);
      t.match(
        findings.filter(({ path }) => path.endsWith('api_base')),
        [{ level: 'exact' }],
        base,
      );
    }
});

t.test('what leads to the same place is written as the kind wants it', async (t) => {
  for (const [model, base, written] of [
    ['openai', 'https://h.example.com/v1/chat/completions', 'https://h.example.com/v1'],
    ['litellm_proxy', 'https://h.example.com/v1/', 'https://h.example.com'],
  ] as const) {
    const { text, findings } = imported(model, base);
    t.match(parseYaml(text), { model_list: [{ litellm_params: { api_base: written } }] });
    t.match(
      findings.filter(({ path }) => path.endsWith('api_base')),
      [{ level: 'exact', message: /the proxy adds the rest/ }],
    );
  }
});

t.test('where a version is added that LiteLLM does not add, the report says so', async (t) => {
  const levelOf = (base: string): string | undefined =>
    imported('gemini', base).findings.find(({ path }) => path.endsWith('api_base'))?.level;
  t.equal(levelOf('https://h.example.com/gemini'), 'approximate');
  t.equal(levelOf('https://h.example.com/v1beta'), 'exact');
  t.equal(levelOf('https://aiplatform.googleapis.com/v1/publishers/google'), 'exact');
});

t.test('a vendor with a prefix of its own here keeps it, with the variable of its key', async (t) => {
  for (const [provider, variable] of [
    ['nvidia_nim', 'NVIDIA_NIM_API_KEY'],
    ['moonshot', 'MOONSHOT_API_KEY'],
    ['deepinfra', 'DEEPINFRA_API_KEY'],
  ] as const) {
    const source = `model_list: [{model_name: a, litellm_params: {model: ${provider}/x/y}}]\n`;
    const result = importLitellm('x.yaml', source, () => ({ ok: false, message: 'does not exist' }));
    if (!result.ok) throw new Error(JSON.stringify(result.issues));
    t.match(parseYaml(result.imported.text), {
      model_list: [{ litellm_params: { model: `${provider}/x/y`, api_key: `os.environ/${variable}` } }],
    });
    t.strictSame(result.imported.unresolved, []);
  }
});
