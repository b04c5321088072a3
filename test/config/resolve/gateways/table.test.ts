// What holds for every gateway dialect.
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../../config/dialect.ts';
import { gatewayOf } from '../../../../config/resolve/gateways/table.ts';

t.test('what a gateway is sent, and may send back, is never taken for its own call id', async (t) => {
  const dialect = dialectOf(DEFAULT_WORDS);
  for (const name of ['litellm', 'bifrost', 'portkey', 'plain', 'none'] as const) {
    const gateway = gatewayOf(name, 'proxy', dialect);
    const { session, user, userSynonyms = [], tags, metadata, callId } = gateway;
    const sent = [session, user, ...userSynonyms, tags?.name, metadata?.name];
    t.same(
      callId.filter((one) => sent.includes(one)),
      [],
      name,
    );
  }
});
