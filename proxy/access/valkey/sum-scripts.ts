// The scripts by which sums of the spend store come into the counters, and are read there. `scripts.ts` says where what is kept.
import { AMOUNTS, COUNTER_MS, script } from './scripts.ts';

/**
 * Somebody is about to read the sums of counters. KEYS: generation, counters. ARGV: generation. Answers of each counter that nobody
 * has seeded which requests were settled in it already.
 */
export const BEGIN_SUMS = script(`
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 'generation' end
local reply = {}
for k = 2, #KEYS do
  local ids = {}
  if redis.call('HEXISTS', KEYS[k], 's') == 0 then
    if redis.call('HSETNX', KEYS[k], 'w', 1) == 1 then redis.call('PEXPIRE', KEYS[k], ${COUNTER_MS}) end
    for _, name in ipairs(redis.call('HKEYS', KEYS[k])) do
      if string.sub(name, 1, 2) == 'l:' then ids[#ids + 1] = string.sub(name, 3) end
    end
  end
  reply[#reply + 1] = ids
end
return reply
`);

/**
 * What a counter had spent before; only the first one counts. KEYS: generation, counter. ARGV: generation, hi, lo, JSON of
 * the requests that are in this sum though they were settled in the counter before it came.
 */
export const SEED = script(`${AMOUNTS}
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 'generation' end
if redis.call('HEXISTS', KEYS[2], 's') == 1 then return 'known' end
local hi, lo, counted = tonumber(ARGV[2]), tonumber(ARGV[3]), {}
for _, id in ipairs(cjson.decode(ARGV[4])) do counted['l:' .. id] = true end
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 2) == 'l:' then
    if not counted[all[i]] then
      local at = string.find(all[i + 1], ':', 1, true)
      lo, hi = plus(lo, hi, tonumber(string.sub(all[i + 1], at + 1)), tonumber(string.sub(all[i + 1], 1, at - 1)))
    end
    redis.call('HDEL', KEYS[2], all[i])
  end
end
redis.call('HDEL', KEYS[2], 'w')
redis.call('HSET', KEYS[2], 's', lo, 'S', hi)
redis.call('PEXPIRE', KEYS[2], ${COUNTER_MS})
return 'ok'
`);

/** KEYS: generation, counter. ARGV: generation. */
export const READ = script(`
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'generation'} end
local v = redis.call('HMGET', KEYS[2], 's', 'S', 'r', 'R')
if not v[1] then return {'unseeded'} end
return {v[1], v[2], v[3] or '0', v[4] or '0'}
`);
