-- Reads so many locks of the older protocol in one step, and writes nothing.
--
-- KEYS: two a lock, key and owner key; then one a lock: the list of lines of its history. No
--   ARGV.
-- Returns for each {type, value, ms left, false, {}, {}, false, -2, what endings.lua tells}, as
--   look.lua does. A time that is over is no lock any more, and 'none'.
-- Atomic: a key and its owner key that are read one after the other may never have been so
-- together.

-- @include clock.lua
-- @include time.setnx.lua
-- @history
-- @include endings.lua
-- @end
local locks, count = {}, #KEYS / 3
for i = 1, count do
  local at, ended = i * 2 - 1, {}
  local time = redis.pcall('GET', KEYS[at])
  local kind, left = redis.call('TYPE', KEYS[at]).ok, redis.call('PTTL', KEYS[at])
  local value = type(time) == 'string' and (owner_of(time, KEYS[at + 1]) or time)
  local endsAt = type(time) == 'string' and end_of(time)
  if endsAt then left = math.ceil(endsAt + differenceMs - now_ms()) end
  if endsAt and left < 0 then kind, value, left = 'none', false, -2 end
  -- @history
  if value then ended = endings(KEYS[count * 2 + i], value, {}) end
  -- @end
  value = value and string.sub(value, 1, 4097)
  locks[i] = {kind, value, left, false, {}, {}, false, -2, ended}
end
return locks
