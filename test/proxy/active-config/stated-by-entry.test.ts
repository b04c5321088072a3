// What an entry states, ready for calls: found once, and bounded.
import { inspect } from 'node:util';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { StatedByEntry } from '../../../proxy/active-config/stated-by-entry.ts';
import { protocolNamed } from '../../../proxy/protocols/table.ts';

t.test(
  'what settings come to is found once per protocol and model; extra members are read once',
  async (t) => {
    const stated = new StatedByEntry({
      settings: { reasoning_effort: 'high' },
      extra: [['a', new Secret('{"b":"sk-one"}')]],
    });
    const messages = protocolNamed('messages');
    const of = (most: number | null): object => stated.settingsIn(messages, 'claude-sonnet-4-5', most);
    t.equal(of(3_000), of(3_000), 'the same object');
    t.not(of(3_000), of(2_000));
    t.match(of(2_000), { thinking: { budget_tokens: 1_999 } });
    for (let most = 2_000; most < 2_100; most += 1) of(most);
    t.match(of(2_099), { thinking: { budget_tokens: 2_098 } }, 'found anew where no more is remembered');
    t.strictSame(stated.extraValues.get('a'), { b: 'sk-one' });
    t.notMatch(inspect(stated, { depth: 9 }), /sk-one/);
  },
);
