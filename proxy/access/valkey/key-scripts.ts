// What runs inside Valkey for idempotency keys. The keys of a server without a sign of life are free.
import { COUNTER_MS, LEASE_MS, script } from './scripts.ts';

const IS_RUN = `
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local function lives(P, server)
  local seen = redis.call('ZSCORE', P .. 'servers', server)
  return seen and tonumber(seen) > now - ${LEASE_MS}
end
`;

/**
 * Takes a key, or says which call has it. KEYS: generation, key. ARGV: generation, prefix, server, call, digest, 1 for a
 * stream.
 */
export const TAKE_KEY = script(`
local g = redis.call('HMGET', KEYS[1], 'id', 'open')
if g[1] ~= ARGV[1] then return {'generation'} end
if not g[2] then return {'closed'} end
${IS_RUN}
local P = ARGV[2]
local v = redis.call('HMGET', KEYS[2], 'o', 'i', 'd', 's', 'h')
if v[5] then return {'ended', v[2], v[3], v[4], v[5], redis.call('HGET', KEYS[2], 'b') or 0} end
if v[1] and v[2] ~= ARGV[4] and lives(P, v[1]) then return {'running', v[2], v[3], v[4]} end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'o', ARGV[3], 'i', ARGV[4], 'd', ARGV[5], 's', ARGV[6])
redis.call('PEXPIRE', KEYS[2], ${COUNTER_MS})
return {'first'}
`);

/**
 * What a server knows of its call; nothing happens where another call has the key. May come twice.
 * KEYS: generation, key. ARGV: generation, prefix, server, call, digest, 1 for a stream; of an ended call also how long it is
 * known, all but the body, and the body if there is one.
 */
export const TELL_KEY = script(`
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 'generation' end
${IS_RUN}
local P = ARGV[2]
local v = redis.call('HMGET', KEYS[2], 'o', 'i', 'h')
if v[1] and v[2] ~= ARGV[4] and (v[3] or lives(P, v[1])) then return 'taken' end
redis.call('ZADD', P .. 'servers', 'NX', now, ARGV[3])
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'o', ARGV[3], 'i', ARGV[4], 'd', ARGV[5], 's', ARGV[6])
if ARGV[7] then
  redis.call('HSET', KEYS[2], 'h', ARGV[8])
  if ARGV[9] then redis.call('HSET', KEYS[2], 'b', ARGV[9]) end
  redis.call('PEXPIRE', KEYS[2], ARGV[7])
else redis.call('PEXPIRE', KEYS[2], ${COUNTER_MS}) end
return 'ok'
`);

/** The call has left nothing, or is forgotten. KEYS: generation, key. ARGV: generation, call. */
export const FREE_KEY = script(`
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 'generation' end
if redis.call('HGET', KEYS[2], 'i') == ARGV[2] then redis.call('DEL', KEYS[2]) end
return 'ok'
`);

/** Of each key 1 while a call runs under it. KEYS: generation. ARGV: generation, prefix, keys. */
export const LOOK_AT_KEYS = script(`
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {} end
${IS_RUN}
local P, reply = ARGV[2], {}
for i = 3, #ARGV do
  local v = redis.call('HMGET', P .. 'i:' .. ARGV[i], 'o', 'h')
  reply[#reply + 1] = (v[1] and not v[2] and lives(P, v[1])) and 1 or 0
end
return reply
`);
