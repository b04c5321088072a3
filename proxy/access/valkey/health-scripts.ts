// What runs inside Valkey for deployments that cool down: which they are, until when, and which server tries one that may
// be well again.
import { LEASE_MS, script } from './scripts.ts';

/** A server that was to try a deployment and did not loses that to another one that wants to. */
const TRIAL_MS = 5_000;
/** What has been over for so long is of a deployment that nobody calls, or has. */
const STALE_MS = 3_600_000;

const NOW = `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'generation'} end
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local b = ARGV[2] .. 'b'
`;

/**
 * KEYS: generation. ARGV: generation, prefix, server, {deployment, ms that it cools down for; -1 = it is well}...
 * Answers the number of each of the news.
 */
export const TELL_HEALTH = script(`${NOW}
local reply = {'ok'}
for i = 4, #ARGV, 2 do
  local ms = tonumber(ARGV[i + 1])
  local n = redis.call('HINCRBY', KEYS[1], 'n', 1)
  if ms < 0 then redis.call('HDEL', b, ARGV[i])
  else redis.call('HSET', b, ARGV[i], string.format('%.0f:%.0f:%s::0', n, now + ms, ARGV[3])) end
  reply[#reply + 1] = n
end
redis.call('PEXPIRE', b, ${STALE_MS})
return reply
`);

/**
 * Whether this server may try a deployment whose cooldown is over: one of all at a time. KEYS: generation.
 * ARGV: generation, prefix, server, deployment.
 */
export const ASK_TRIAL = script(`${NOW}
local v = redis.call('HGET', b, ARGV[4])
if not v then return {'ok', 0} end
local n, till, by, holder, since = string.match(v, '^(%d+):(%d+):([^:]*):([^:]*):(%d+)$')
if tonumber(till) > now then return {'ok', 0} end
if holder == ARGV[3] then return {'ok', 1} end
if holder ~= '' and now - tonumber(since) < ${TRIAL_MS} then
  local seen = redis.call('ZSCORE', ARGV[2] .. 'servers', holder)
  if seen and tonumber(seen) > now - ${LEASE_MS} then return {'ok', 0} end
end
redis.call('HSET', b, ARGV[4], string.format('%s:%s:%s:%s:%.0f', n, till, by, ARGV[3], now))
if holder ~= '' then redis.call('HINCRBY', KEYS[1], 'n', 1) end
return {'ok', 1}
`);

/** All that cools down. KEYS: generation. ARGV: generation, prefix. Answers the number of the last news, and
 * {deployment, number of its news, ms that are left, server, server that tries it}... */
export const READ_HEALTH = script(`${NOW}
local reply = {'ok', tonumber(redis.call('HGET', KEYS[1], 'n') or 0)}
local all = redis.call('HGETALL', b)
for i = 1, #all, 2 do
  local n, till, by, holder = string.match(all[i + 1], '^(%d+):(%d+):([^:]*):([^:]*):')
  if now - tonumber(till) > ${STALE_MS} then redis.call('HDEL', b, all[i])
  else for _, one in ipairs({all[i], n, tostring(tonumber(till) - now), by, holder}) do reply[#reply + 1] = one end end
end
return reply
`);
