// The Lua scripts that look at locks and break them; scripts.ts has those of a lock. Looking is a
// script too, because a holder and a queue that are read one after the other may never have been so
// together. What they return is bounded, whatever other clients have written: a few megabytes a
// reply at most.

/** read(command, ...): a key of the wrong type reads as absent; no right to read it is an error, and not an empty one. */
const read = `
local function read(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE') then return false end
  return redis.call(...)
end
`;

/** Of a value or a line: longer ones are cut by a look, and left out of a history. */
export const mostValueBytes = 4_096;

/**
 * Reads so many locks in one step, a hundred at most. KEYS: five a lock, as in the joint scripts.
 * Returns for each {type, value or false, PTTL, counter or false, {id, ms waited, ...}, {slot and
 * value, ms left, ...}}. A waiter that has given no sign of life for three seconds is left out of
 * the queue, and the holders beside the key are only those that have not ended, under a key that is
 * marked so. One byte more than the most of a value says that it is longer. Waiters and holders
 * that there is no room for (thousands) are left out, and ids are cut.
 * Atomic: a lock and its queue are seen as they were at one moment.
 */
export const lookScript = `${read}
local room = 900000 - #KEYS * ${mostValueBytes / 4}
local function cut(text)
  text = string.sub(text, 1, ${mostValueBytes + 1})
  room = room - #text - 40
  return text
end
local function bounded(ms) return math.max(0, math.min(9007199254740991, math.floor(ms))) end
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local sights = {}
for at = 1, #KEYS, 5 do
  local value, count = read('GET', KEYS[at]), read('GET', KEYS[at + 1])
  local isAlive, queue = {}, {}
  for _, id in ipairs(read('ZRANGEBYSCORE', KEYS[at + 3], nowMs - 2999, '+inf') or {}) do isAlive[id] = true end
  local entries = read('ZRANGE', KEYS[at + 2], 0, -1, 'WITHSCORES') or {}
  for entry = 1, #entries, 2 do
    if isAlive[entries[entry]] and room > 0 then
      queue[#queue + 1] = cut(string.sub(entries[entry], 1, 200))
      queue[#queue + 1] = bounded(nowMs - entries[entry + 1] / 1000)
    end
  end
  local holders = {}
  if value and (value == 'shared' or string.find(value, '^slots %d+$')) then
    local members = read('ZRANGEBYSCORE', KEYS[at + 4], '(' .. nowMs, '+inf', 'WITHSCORES') or {}
    for entry = 1, #members, 2 do
      if room > 0 then
        holders[#holders + 1] = cut(members[entry])
        holders[#holders + 1] = bounded(members[entry + 1] - nowMs)
      end
    end
  end
  sights[#sights + 1] = {
    redis.call('TYPE', KEYS[at]).ok,
    value and string.sub(value, 1, ${mostValueBytes + 1}),
    redis.call('PTTL', KEYS[at]),
    count and string.sub(count, 1, 30),
    queue,
    holders,
  }
end
return sights
`;

/**
 * Reads the newest lines of so many histories. KEYS: the streams; ARGV[1] how many lines of each at
 * most. Returns {whether all of it fitted, {id, line, id, line, ...}, ...}, newest first, a list
 * for each stream up to that in which the room ran out. Lines that are longer than one of ours are
 * left out.
 */
export const historyScript = `${read}
local room = 4000000
local answer = {1}
for at = 1, #KEYS do
  local lines = {}
  answer[#answer + 1] = lines
  for _, entry in ipairs(read('XREVRANGE', KEYS[at], '+', '-', 'COUNT', ARGV[1]) or {}) do
    local line = ''
    for field = 1, #entry[2], 2 do
      if entry[2][field] == 'run' then line = entry[2][field + 1] end
    end
    if #line <= ${mostValueBytes} then
      room = room - #line - 60
      if room < 0 then
        answer[1] = 0
        return answer
      end
      lines[#lines + 1] = entry[1]
      lines[#lines + 1] = line
    end
  end
end
return answer
`;

/**
 * Puts another value in the place of this one, for the time that this one had left. A key that
 * never expires is removed: there is nothing to wait for.
 * KEYS[1] key; ARGV[1] value, ARGV[2] what takes its place. Returns 1 replaced or removed, 0
 * another value, -1 gone.
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
