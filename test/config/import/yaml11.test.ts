// Plain words as PyYAML reads them: each expected value was read with yaml.safe_load of PyYAML 6.
import t from 'tap';
import { parse as parseYaml } from 'yaml';
import { importLitellm } from '../../../config/import/litellm.ts';
import { inYaml11 } from '../../../config/import/yaml11.ts';

t.test('what is another value there', async (t) => {
  const cases: readonly (readonly [source: string, value: boolean | number | string])[] = [
    ['yes', true],
    ['Yes', true],
    ['ON', true],
    ['no', false],
    ['Off', false],
    ['010', 8],
    ['-010', -8],
    ['0_17', 15],
    ['0b101', 5],
    ['0x1_F', 31],
    ['20_000', 20000],
    ['1_0.5_0', 10.5],
    ['1:30', 90],
    ['1:30:00', 5400],
    ['-1:30', -90],
    ['0o10', '0o10'],
  ];
  for (const [source, value] of cases) t.equal(inYaml11(source), value, source);
});

t.test('what is the same, or no number at all', async (t) => {
  const same = [
    'true',
    'null',
    '~',
    '10',
    '1.5',
    '-3',
    '0',
    '08',
    '1e3',
    'yEs',
    'onward',
    '1:99',
    '_1',
    'a:b',
    '2024-10-21',
    '10.0.0.1',
    '::1',
    '',
    '0b',
    '0x',
    'y',
    'n',
  ];
  for (const source of same) t.equal(inYaml11(source), undefined, source);
});

t.test('an import writes the values that LiteLLM reads, and says so', async (t) => {
  const text = `model_list:
  - model_name: "010"
    litellm_params:
      model: openai/x
      api_base: https://gw.example.com/v1
      api_key: os.environ/KEY
      timeout: 010
      rpm: 20_000
      weight: "010"
general_settings:
  store_model_in_db: no
`;
  const result = importLitellm('litellm.yaml', text, () => ({ ok: false, message: '' }));
  if (!result.ok) return t.fail('not imported');
  t.match(parseYaml(result.imported.text), {
    model_list: [{ model_name: '010', litellm_params: { timeout: 8, rpm: 20000, weight: '010' } }],
    general_settings: { store_model_in_db: false, unknown_keys: 'warn' },
  });
  const said = result.imported.findings.map(({ path, message }) => `${path}: ${message}`);
  t.ok(said.includes('model_list[0].litellm_params.timeout: LiteLLM reads 010 as 8, and so it is written'));
  t.match(
    said.find((line) => line.includes('.rpm:')),
    /reads 20_000 as 20000, and so it is written; a share within/,
  );
  return undefined;
});
