// What runs inside Valkey for the list of servers: `h`, a hash of what each process says of itself: <ms of its last sign of life>:<text>.
import { script } from './scripts.ts';

/** Who has been silent for so long does not come back. */
const FORGOTTEN_MS = 3_600_000;

/**
 * Says what a process is and answers what all have said: {'ok', milliseconds since, process, text, ...}. KEYS: generation.
 * ARGV: generation, prefix, process, text ('' = it ends).
 */
export const PRESENT = script(`
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'generation'} end
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local h = ARGV[2] .. 'h'
if ARGV[4] == '' then redis.call('HDEL', h, ARGV[3])
else redis.call('HSET', h, ARGV[3], string.format('%.0f:%s', now, ARGV[4])) end
redis.call('PEXPIRE', h, ${FORGOTTEN_MS})
local all = redis.call('HGETALL', h)
local reply = {'ok'}
for i = 1, #all, 2 do
  local at = string.find(all[i + 1], ':', 1, true)
  local since = now - tonumber(string.sub(all[i + 1], 1, at - 1))
  if since > ${FORGOTTEN_MS} then redis.call('HDEL', h, all[i])
  else
    reply[#reply + 1] = string.format('%.0f', since)
    reply[#reply + 1] = all[i]
    reply[#reply + 1] = string.sub(all[i + 1], at + 1)
  end
end
return reply
`);
