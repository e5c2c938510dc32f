-- Reads so many locks of the older protocol in one step, and writes nothing.
--
-- KEYS: two a lock, key and owner record. No ARGV.
-- Returns for each {type, value, ms left, false, {}, {}, false, -2}, as look.lua does. A time that
--   is over is no lock any more, and 'none'.
-- Atomic: a key and its owner record that are read one after the other may never have been so
-- together.

-- @include clock.lua
-- @include time.setnx.lua
local locks = {}
for at = 1, #KEYS, 2 do
  local time = redis.pcall('GET', KEYS[at])
  local kind, left = redis.call('TYPE', KEYS[at]).ok, redis.call('PTTL', KEYS[at])
  local value = type(time) == 'string' and (owner_of(time, KEYS[at + 1]) or time)
  local endsAt = type(time) == 'string' and end_of(time)
  if endsAt then left = math.ceil(endsAt + differenceMs - now_ms()) end
  if endsAt and left < 0 then kind, value, left = 'none', false, -2 end
  locks[#locks + 1] = {kind, value and string.sub(value, 1, 4097), left, false, {}, {}, false, -2}
end
return locks
