-- Reads so many locks in one step, a hundred at most, and writes nothing.
--
-- KEYS: as in acquire.lua; then one a resource: the list of lines of its history. No ARGV.
-- Returns for each {type, value or false, PTTL, counter or false, {id, ms waited, ...}, {slot and
--   value, ms left, ...}, freeze or false, its PTTL, what endings.lua tells}. A waiter without a
--   sign of life for silentMs is left out of the queue, and the holders beside the key are only
--   those that have not ended, under a key that is marked so. One byte more than the most of a
--   value says that it is longer.
-- Atomic: a holder and a queue that are read one after the other may never have been so together.
--
-- The reply is bounded, whatever other clients have written: a few megabytes at most. Waiters and
-- holders that there is no room for (thousands) are left out, and ids are cut.

-- @include clock.lua
-- @include read.lua
-- @history
-- @include endings.lua
-- @end
local mostValueBytes = 4096
-- @include silence.lua
local count = #KEYS / 7
local room = 900000 - count * 5 * mostValueBytes / 4
local function cut(text)
  text = string.sub(text, 1, mostValueBytes + 1)
  room = room - #text - 40
  return text
end
local function bounded(ms) return math.max(0, math.min(9007199254740991, math.floor(ms))) end
local locks = {}
for i = 1, count do
  local at = i * 5 - 4
  local value, fence = read('GET', KEYS[at]), read('GET', KEYS[at + 1])
  local isAlive, queue = {}, {}
  local entries = read('ZRANGE', KEYS[at + 2], 0, -1, 'WITHSCORES') or {}
  local since = '(' .. now_ms() - silentMs
  local alive = #entries > 0 and read('ZRANGEBYSCORE', KEYS[at + 3], since, '+inf') or {}
  for _, id in ipairs(alive) do isAlive[id] = true end
  for entry = 1, #entries, 2 do
    if isAlive[entries[entry]] and room > 0 then
      queue[#queue + 1] = cut(string.sub(entries[entry], 1, 200))
      queue[#queue + 1] = bounded(now_ms() - entries[entry + 1] / 1000)
    end
  end
  local holders = {}
  if value and (value == 'shared' or string.find(value, '^slots %d+$')) then
    local members = read('ZRANGEBYSCORE', KEYS[at + 4], '(' .. now_ms(), '+inf', 'WITHSCORES') or {}
    for entry = 1, #members, 2 do
      if room > 0 then
        holders[#holders + 1] = cut(members[entry])
        holders[#holders + 1] = bounded(members[entry + 1] - now_ms())
      end
    end
  end
  local freezeKey, ended = KEYS[count * 5 + i], {}
  local freeze = read('GET', freezeKey)
  -- @history
  if value then ended = endings(KEYS[count * 6 + i], value, holders) end
  -- @end
  locks[i] = {
    redis.call('TYPE', KEYS[at]).ok,
    value and string.sub(value, 1, mostValueBytes + 1),
    redis.call('PTTL', KEYS[at]),
    fence and string.sub(fence, 1, 30),
    queue,
    holders,
    freeze and cut(freeze),
    redis.call('PTTL', freezeKey),
    ended,
  }
end
return locks
