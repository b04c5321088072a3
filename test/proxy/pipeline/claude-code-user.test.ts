import t from 'tap';
import { claudeCodeUser } from '../../../proxy/pipeline/claude-code-user.ts';

const DEVICE = 'ab'.repeat(32);
const ACCOUNT = '0b5c8a52-64ea-4e7e-9d18-3b1f8b6a5d11';
const SESSION = '7d1f2c3b-1111-4222-8333-944455566677';

t.test('the session is told from the user, in both spellings', async (t) => {
  const text = (account: string): string => `user_${DEVICE}_account_${account}_session_${SESSION}`;
  const json = (members: object): string =>
    JSON.stringify({ device_id: DEVICE, session_id: SESSION, ...members });
  const ofAccount = { user: `account_${ACCOUNT}`, session: SESSION };
  const ofMachine = { user: `user_${DEVICE}`, session: SESSION };
  for (const [said, meant] of [
    [text(ACCOUNT), ofAccount],
    [text(''), ofMachine],
    [` ${text(ACCOUNT)}\n`, ofAccount],
    [json({ account_uuid: ACCOUNT }), ofAccount],
    [json({ account_uuid: '' }), ofMachine],
    [json({}), ofMachine],
    [json({ account_uuid: ['x'] }), ofMachine],
  ] as const)
    t.same(claudeCodeUser(said), meant, said);
});

t.test("what is not Claude Code's stays an end user as it is", async (t) => {
  for (const said of [
    'ann',
    undefined,
    7,
    '{}',
    '{"user":"ann"}',
    '{"session_id":',
    '[]',
    '{"device_id":"short","session_id":"x"}',
    JSON.stringify({ device_id: DEVICE, session_id: 'not an id' }),
    JSON.stringify({ device_id: { a: 1 }, session_id: SESSION }),
    `user_${DEVICE}_account_${ACCOUNT}_session_`,
    `x_user_${DEVICE}_account__session_${SESSION}`,
    `${JSON.stringify({ device_id: DEVICE, session_id: SESSION })}${' '.repeat(2_000)}`,
  ])
    t.equal(claudeCodeUser(said), null, String(said));
});
