// The Lua scripts of those who look at locks and break them; scripts.ts has those of a lock. Sent whole, as there. The surprise: looking is a
// script too, although it writes nothing, because a holder and his queue read one after the other may never have been so together.

/** read(command, ...): a key of the wrong type reads as absent; no right to read it is an error, and not an empty one. */
const read = `
local function read(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE') then return false end
  return redis.call(...)
end
`;

/**
 * Reads so many locks in one step. KEYS: five a lock, as in the joint scripts. Returns for each {type, value or false, PTTL, counter or
 * false, {id, ms waited, ...}, {slot and value, ms left, ...}}; who has given no sign of life for three seconds is left out of the
 * queue, and the holders beside the key are only those that have not ended, under a key that is marked so.
 * Atomic: a lock and its queue are seen as they were at one moment.
 */
export const lookScript = `${read}local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local sights = {}
for at = 1, #KEYS, 5 do
  local value, count = read('GET', KEYS[at]), read('GET', KEYS[at + 1])
  local isAlive, queue = {}, {}
  for _, id in ipairs(read('ZRANGEBYSCORE', KEYS[at + 3], nowMs - 2999, '+inf') or {}) do isAlive[id] = true end
  local entries = read('ZRANGE', KEYS[at + 2], 0, -1, 'WITHSCORES') or {}
  for entry = 1, #entries, 2 do
    if isAlive[entries[entry]] then
      queue[#queue + 1] = entries[entry]
      queue[#queue + 1] = math.max(0, math.floor(nowMs - entries[entry + 1] / 1000))
    end
  end
  local holders = {}
  if value and (value == 'shared' or string.find(value, '^slots %d+$')) then
    local members = read('ZRANGEBYSCORE', KEYS[at + 4], '(' .. nowMs, '+inf', 'WITHSCORES') or {}
    for entry = 1, #members, 2 do
      holders[#holders + 1] = members[entry]
      holders[#holders + 1] = math.floor(members[entry + 1] - nowMs)
    end
  end
  sights[#sights + 1] = {
    redis.call('TYPE', KEYS[at]).ok,
    value,
    redis.call('PTTL', KEYS[at]),
    count,
    queue,
    holders,
  }
end
return sights
`;

/**
 * Reads the newest lines of so many histories. KEYS: the streams; ARGV[1] how many lines of each at most. Returns for each
 * {{id, {field, text, ...}}, ...}, newest first. Writes nothing; a script only for what it makes of a key of another type.
 */
export const historyScript = `${read}
local histories = {}
for at = 1, #KEYS do
  histories[at] = read('XREVRANGE', KEYS[at], '+', '-', 'COUNT', ARGV[1]) or {}
end
return histories
`;

/**
 * Puts another value in the place of this one, for the time that this one had left; nobody else can come in between. A key that never
 * expires is removed: there is nothing to wait for.
 * KEYS[1] key; ARGV[1] value, ARGV[2] what takes its place. Returns 1 replaced or removed, 0 somebody else's value, -1 gone.
 * Atomic: the key could expire and be taken between the comparison and the SET.
 */
export const replaceScript = `
local holder = redis.pcall('GET', KEYS[1])
if holder == false then return -1 end
if holder ~= ARGV[1] then return 0 end
local leftMs = redis.call('PTTL', KEYS[1])
if leftMs > 0 then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', leftMs)
else
  redis.call('DEL', KEYS[1])
end
return 1
`;
