// What runs inside Valkey, in Lua: each script is one step that is done whole or not at all. Times are the server's own.
//
// Keys of one installation share a hash tag, so that they stand in one slot of a cluster. Below `<tag>:<generation>:`
//   c:<budget>@<window>  hash: s S spent, r R reserved, w somebody reads its sum, l:<request> settled before the sum came
//   r:<limit> t:<limit>  microsecond at which the bucket of requests or tokens is empty
//   n:<limit>            calls of a conversation that were let in
//   p:<limit>            sorted set of running calls, by the millisecond at which their lease ends
//   q:<request>          what a call has reserved (MessagePack), or `s` settled, or `x` cancelled
//   o:<server>           set of the requests that a server has reserved for; a server is <journal>/<process>
//   i:<key>              hash of a call under an idempotency key: o server, i d s its id, digest, whether it is a stream;
//                        once it has ended also h b, all but the body of its answer, and the body, both encrypted
//   b                    hash of deployments that cool down: <news>:<until>:<server>:<server that tries it>:<since>
//   servers              sorted set of servers, by the millisecond of their last sign of life
// and `<tag>:g`, a hash, names the generation; its `n` counts the news, so that a server asks for them only where there are any. A generation ends when the data cannot be trusted any more: it is gone, or
// the server that holds it was restarted or replaced and may have forgotten the last writes. A new one starts from the sums
// of the spend store and from what each server says that it holds.
//
// Lua's numbers are doubles, exact up to 2^53; amounts are two of them: below 10^15 pico-dollars, and thousands of dollars.
import { createHash } from 'node:crypto';
import { CALLS_KEPT_MS } from '../limits/rate-book.ts';

/** One Lua program. Scripts are called by their hash, so two versions of the proxy run beside each other. */
export interface Script {
  readonly source: string;
  /** Of the source: EVALSHA names scripts so. */
  readonly sha1: string;
}

export function script(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/** Part of each key: another number is another way to keep the state, which other versions cannot read. */
export const LAYOUT = 1;
/** Places of parallel limits and idempotency keys are free after so long without a sign of life from their server. */
export const LEASE_MS = 30_000;
/** Servers that hold reservations have so long to say so, before a new generation lets calls in without them. */
const GATHER_MS = 5_000;
/** Unused for so long, a counter is forgotten and asked for again. No call runs for longer. */
export const COUNTER_MS = 3 * 86_400_000;
/** What is settled in a counter that nobody knows is kept so long, for whoever reads its sum. */
const LATE_MS = 60_000;
/** A settled call is remembered so long, in case it is settled again. */
export const SETTLED_MS = 600_000;
/** What a killed server had sent is there after so long, also where Valkey was paused meanwhile. */
const FORGOTTEN_MS = 600_000;
/** Later than the clock says by so much, a sign of life was given before the clock was set back. */
const CLOCK_BACK_MS = 5_000;
/** Requests of servers that are gone in the answer to one sign of life. */
const MOST_ORPHANS = 200;
/** After this long without its record, a call's entry is forgotten; its amount stays reserved. */
const ENTRY_MS = 35 * 86_400_000;

export const AMOUNTS = `
local B = 1e15
local function plus(lo, hi, lo2, hi2)
  lo, hi = lo + lo2, hi + hi2
  if lo >= B then return lo - B, hi + 1 end
  return lo, hi
end
local function minus(lo, hi, lo2, hi2)
  lo, hi = lo - lo2, hi - hi2
  if lo < 0 then lo, hi = lo + B, hi - 1 end
  if hi < 0 then return 0, 0 end
  return lo, hi
end
local function now_us()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1e6 + tonumber(t[2])
end
`;

const ADD_RESERVED = `
local function reserve(key, lo, hi)
  local v = redis.call('HMGET', key, 'r', 'R')
  lo, hi = plus(tonumber(v[1] or 0), tonumber(v[2] or 0), lo, hi)
  redis.call('HSET', key, 'r', lo, 'R', hi)
  redis.call('PEXPIRE', key, ${COUNTER_MS})
end
local function hold(P, id, server, entry, money, now)
  redis.call('SET', P .. 'q:' .. id, cmsgpack.pack(entry), 'PX', ${ENTRY_MS})
  if money then
    redis.call('SADD', P .. 'o:' .. server, id)
    redis.call('PEXPIRE', P .. 'o:' .. server, ${ENTRY_MS}) -- no sign of life comes any more where the generation ends first
  end
end
local function occupy(key, id, now)
  redis.call('ZADD', key, now / 1000 + ${LEASE_MS}, id)
  redis.call('PEXPIRE', key, ${2 * LEASE_MS})
end
`;

/**
 * Ends and keeps reservations: `apply` takes the JSON of operations:
 * [f, request, limits] frees places; [k, request, limits] keeps them, or takes them again; [x, request] undoes a reservation;
 * [g, request, call, 1 without its places] takes over one of the generation before, or of a server that counted alone;
 * [s, request, tokens or -1, [[counter, hi, lo]...]] settles;
 * [d, counter] forgets what it had spent; [S, request, tokens, hi, lo] settles what is reserved and not settled. Each may come twice.
 */
const OPERATIONS = `
local P = ARGV[2]
local now = now_us()
local function rate(key, most, more)
  if most <= 0 then return end
  local empty = math.max(now, tonumber(redis.call('GET', key) or 0)) + more * 6e7 / most
  if empty > now then redis.call('SET', key, empty, 'PX', math.ceil((empty - now) / 1000) + 1000)
  else redis.call('DEL', key) end
end
local function free(id, entry, tokens, undo)
  local hi, lo, nb, i = tonumber(entry[5]), tonumber(entry[6]), tonumber(entry[7]), 8
  for _ = 1, nb do
    local key = P .. 'c:' .. entry[i]
    local v = redis.call('HMGET', key, 'r', 'R')
    if v[1] then
      local rlo, rhi = minus(tonumber(v[1]), tonumber(v[2]), lo, hi)
      redis.call('HSET', key, 'r', rlo, 'R', rhi)
    end
    i = i + 4
  end
  local nl = tonumber(entry[i])
  i = i + 1
  for _ = 1, nl do
    local kind, most, want = entry[i], tonumber(entry[i + 2]), tonumber(entry[i + 3])
    local key = P .. kind .. ':' .. entry[i + 1]
    if kind == 'p' then redis.call('ZREM', key, id)
    elseif kind == 'n' then
      if undo and redis.call('EXISTS', key) == 1 then redis.call('DECR', key) end
    elseif undo then rate(key, most, -want)
    elseif kind == 't' and tokens >= 0 then rate(key, most, tokens - want) end
    i = i + 4
  end
  if nb > 0 then redis.call('SREM', P .. 'o:' .. entry[3], id) end
end
local function spend(key, id, hi, lo)
  local v = redis.call('HMGET', key, 's', 'S', 'w', 'r')
  if v[1] then
    local slo, shi = plus(tonumber(v[1]), tonumber(v[2]), lo, hi)
    redis.call('HSET', key, 's', slo, 'S', shi)
  else
    redis.call('HSET', key, 'l:' .. id, string.format('%.0f:%.0f', hi, lo))
    if not v[3] and not v[4] then redis.call('PEXPIRE', key, ${LATE_MS}) end
  end
end
local function apply(text)
for _, op in ipairs(cjson.decode(text)) do
  local kind, id = op[1], op[2]
  if kind == 'f' then
    for _, name in ipairs(op[3]) do redis.call('ZREM', P .. 'p:' .. name, id) end
  elseif kind == 'd' then
    redis.call('HDEL', P .. 'c:' .. id, 's', 'S')
  elseif kind == 'k' then
    local held = redis.call('GET', P .. 'q:' .. id)
    for _, name in ipairs(held and held ~= 's' and held ~= 'x' and op[3] or {}) do occupy(P .. 'p:' .. name, id, now) end
  else
    local key = P .. 'q:' .. id
    local held = redis.call('GET', key)
    local entry = held and held ~= 's' and held ~= 'x' and cmsgpack.unpack(held)
    if kind == 'g' and not entry and held ~= 's' then
      local c, i = op[3], 8
      for _ = 1, tonumber(c[7]) do
        reserve(P .. 'c:' .. c[i], tonumber(c[6]), tonumber(c[5]))
        i = i + 4
      end
      local nl = tonumber(c[i])
      i = i + 1
      for _ = 1, nl do
        if c[i] == 'p' and not op[4] then occupy(P .. 'p:' .. c[i + 1], id, now) end
        i = i + 4
      end
      hold(P, id, c[3], c, tonumber(c[7]) > 0, now)
    elseif kind == 'x' and held ~= 's' and held ~= 'x' then
      if entry then free(id, entry, -1, true) end
      redis.call('SET', key, 'x', 'PX', ${SETTLED_MS})
    elseif kind == 'S' and entry then
      free(id, entry, op[3], false)
      local i = 8
      for _ = 1, tonumber(entry[7]) do
        spend(P .. 'c:' .. entry[i], id, op[4], op[5])
        i = i + 4
      end
      redis.call('SET', key, 's', 'PX', ${SETTLED_MS})
    elseif kind == 's' and held ~= 's' then
      if entry then free(id, entry, op[3], false) end
      for _, c in ipairs(op[4]) do spend(P .. 'c:' .. c[1], id, c[2], c[3]) end
      redis.call('SET', key, 's', 'PX', ${SETTLED_MS})
    end
  end
end
end
`;

/** Operations alone. KEYS: generation. ARGV: generation, prefix, server, operations. */
export const APPLY = script(`${AMOUNTS}${ADD_RESERVED}${OPERATIONS}
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 'generation' end
apply(ARGV[4])
return 'ok'
`);

/**
 * What one or several calls reserve, each by itself, after operations that wait. KEYS: generation. ARGV: generation, prefix, server,
 * operations or '', JSON of a list of calls:
 * ['', '', server, request, hi, lo, budgets, {name, hi, lo, '1' where what is free is let in at the cap}..., limits,
 * {kind, name, most, amount}...]. Answers JSON, which a client reads in half of the time of so many numbers: 'ok', the number
 * of the last news, and of each call what became of it.
 */
export const RESERVE_CALLS = script(`${AMOUNTS}${ADD_RESERVED}${OPERATIONS}
local g = redis.call('HMGET', KEYS[1], 'id', 'open', 'n')
if g[1] ~= ARGV[1] then return '["generation"]' end
if ARGV[4] ~= '' then apply(ARGV[4]) end
if not g[2] then return '["closed"]' end
local server = ARGV[3]
local function reserveCall(A)
  local id = A[4]
  local hi, lo, nb = tonumber(A[5]), tonumber(A[6]), tonumber(A[7])
  local held = redis.call('GET', P .. 'q:' .. id)
  if held == 's' or held == 'x' then return {'ended'} end
  local unknown, refused = nil, nil
  local counters = {}
  local i = 8
  for b = 1, nb do
    if not held then
      local key = P .. 'c:' .. A[i]
      local v = redis.call('HMGET', key, 's', 'S', 'r', 'R')
      if not v[1] then
        unknown = unknown or {'unseeded'}
        unknown[#unknown + 1] = b - 1
        if redis.call('HSETNX', key, 'w', 1) == 1 then redis.call('PEXPIRE', key, ${COUNTER_MS}) end
      else
        local chi, clo = tonumber(A[i + 1]), tonumber(A[i + 2])
        local rlo, rhi = tonumber(v[3] or 0), tonumber(v[4] or 0)
        local ulo, uhi = plus(tonumber(v[1]), tonumber(v[2]), rlo, rhi)
        local nlo, nhi = plus(ulo, uhi, lo, hi)
        local up = uhi > chi or (uhi == chi and (ulo > clo or (ulo == clo and A[i + 3] ~= '1')))
        local over = up or nhi > chi or (nhi == chi and nlo > clo)
        if over and not refused then refused = {'budget', b - 1, v[1], v[2], v[3] or '0', v[4] or '0'} end
        rlo, rhi = plus(rlo, rhi, lo, hi)
        counters[b] = {key, rlo, rhi}
      end
    end
    i = i + 4
  end
  if unknown then return unknown end
  if refused then return refused end
  local nl = tonumber(A[i])
  i = i + 1
  local reply, takes, places, counts = {'reserved'}, {}, {}, {}
  local full, rest = nil, {}
  for l = 1, nl do
    local kind, most, want = A[i], tonumber(A[i + 2]), tonumber(A[i + 3])
    local key = P .. kind .. ':' .. A[i + 1]
    if kind == 'p' then
      redis.call('ZREMRANGEBYSCORE', key, '-inf', now / 1000)
      local n = redis.call('ZCARD', key)
      rest[l] = math.max(0, most - n)
      if not held and n >= most then full = full or {'limit', l - 1, -1} end
      places[#places + 1] = key
      if not held then n = n + 1 end
      reply[l + 1] = math.max(0, most - n)
    elseif kind == 'n' then
      local n = tonumber(redis.call('GET', key) or 0)
      rest[l] = math.max(0, most - n)
      if not held then
        if n >= most then full = full or {'limit', l - 1, -1} end
        counts[#counts + 1] = key
        n = n + 1
      end
      reply[l + 1] = math.max(0, most - n)
    else
      local empty = math.max(now, tonumber(redis.call('GET', key) or 0))
      local left = math.max(0, math.floor(most - (empty - now) * most / 6e7 + most * 1e-8 + 1e-6))
      rest[l] = left
      if not held and (most <= 0 or (kind == 't' and want > most)) then
        full = full or {'limit', l - 1, -1}
      elseif not held then
        empty = empty + want * 6e7 / most
        local wait = empty - now - 6e7
        if wait > 1 then full = full or {'limit', l - 1, math.ceil(wait)} end
        takes[#takes + 1] = {key, empty}
        left = math.max(0, math.floor(most - (empty - now) * most / 6e7 + most * 1e-8 + 1e-6))
      end
      reply[l + 1] = left
    end
    i = i + 4
  end
  if full then
    for l = 1, nl do full[l + 3] = rest[l] end
    return full
  end
  if held then return reply end
  for _, c in ipairs(counters) do
    redis.call('HSET', c[1], 'r', c[2], 'R', c[3])
    redis.call('PEXPIRE', c[1], ${COUNTER_MS})
  end
  for _, r in ipairs(takes) do redis.call('SET', r[1], r[2], 'PX', math.ceil((r[2] - now) / 1000) + 1000) end
  for _, key in ipairs(places) do occupy(key, id, now) end
  for _, key in ipairs(counts) do
    redis.call('INCR', key)
    redis.call('PEXPIRE', key, ${CALLS_KEPT_MS})
  end
  hold(P, id, server, A, nb > 0, now)
  return reply
end
local replies = {'ok', tonumber(g[3] or 0)}
for _, call in ipairs(cjson.decode(ARGV[5])) do replies[#replies + 1] = reserveCall(call) end
return cjson.encode(replies)
`);

/**
 * Says which generation is in force, and starts one where the data is gone or is of another server process.
 * KEYS: generation. ARGV: run id of the server process or '', id for a new generation, and '' or the id of one that must end, * for
 * any: where one of several servers has begun another one already, the others join that.
 */
export const JOIN = script(`
local v = redis.call('HMGET', KEYS[1], 'id', 'run')
if v[1] and ARGV[3] ~= '*' and ARGV[3] ~= v[1] and (ARGV[1] == '' or v[2] == ARGV[1]) then return v[1] end
local t = redis.call('TIME')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'id', ARGV[2], 'run', ARGV[1], 'since', tonumber(t[1]) * 1000)
return ARGV[2]
`);

/**
 * A server's sign of life, after it has said what it holds. Opens a new generation when all servers have come, or after a
 * while without the others. KEYS: generation. ARGV: generation, prefix, server, servers that are known to live.
 * Answers `clock` where that was set back: what is written with the times before it would hold for as long as it was set back.
 * Else whether calls are let in, how many servers count here, the number of the last news, and of each server that is gone and
 * has reserved something: {its name, milliseconds since its last sign of life, request...}.
 */
export const BEAT = script(`
local g = redis.call('HMGET', KEYS[1], 'id', 'open', 'since', 'n')
if g[1] ~= ARGV[1] then return {'generation'} end
local P = ARGV[2]
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local last = redis.call('ZSCORE', P .. 'servers', ARGV[3])
if last and tonumber(last) - now > ${CLOCK_BACK_MS} then return {'clock'} end
redis.call('ZADD', P .. 'servers', now, ARGV[3])
redis.call('PEXPIRE', P .. 'servers', ${ENTRY_MS})
redis.call('PEXPIRE', P .. 'o:' .. ARGV[3], ${ENTRY_MS})
local open = g[2]
local here = redis.call('ZCOUNT', P .. 'servers', now - ${GATHER_MS}, '+inf')
if not open then
  if here >= tonumber(ARGV[4]) or now - tonumber(g[3]) >= ${GATHER_MS} then
    redis.call('HSET', KEYS[1], 'open', 1)
    open = '1'
  end
end
local reply = {'ok', open and 1 or 0, here, tonumber(g[4] or 0)}
local gone = redis.call('ZRANGEBYSCORE', P .. 'servers', '-inf', now - ${LEASE_MS}, 'WITHSCORES')
local found, n = 0, #gone / 2
for k = 0, n - 1 do
  if found >= ${MOST_ORPHANS} then break end
  local i = 2 * ((k + now) % n) + 1 -- another one first each time: requests of some may wait for long
  local silent = now - tonumber(gone[i + 1])
  local ids = redis.call('SRANDMEMBER', P .. 'o:' .. gone[i], 50)
  found = found + #ids
  if #ids > 0 then
    table.insert(ids, 1, gone[i])
    table.insert(ids, 2, silent)
    reply[#reply + 1] = ids
  elseif silent > ${FORGOTTEN_MS} then redis.call('ZREM', P .. 'servers', gone[i]) end
end
return reply
`);

/** Whether calls are let in, and sums are read, already. KEYS: generation. ARGV: generation. */
export const IS_OPEN = script(`
local g = redis.call('HMGET', KEYS[1], 'id', 'open')
if g[1] ~= ARGV[1] then return 'generation' end
return g[2] and 'open' or 'closed'
`);
