-- Freezes a lock: from now on it has no new holder. The present one is left alone.
--
-- KEYS: 1 the freeze. ARGV: 1 value, 2 ms until it ends by itself (0: it does not).
-- Returns {1, ''} frozen, or {0, beginning of the freeze that stands there, '(a hash)' or so for a
--   key of another type}.
-- Atomic: another freeze could be set between the comparison and the SET.

-- @include told.lua
local value, ms = unpack(ARGV, 1, 2)
local standing = redis.pcall('GET', KEYS[1])
if type(standing) == 'table' then return {0, '(a ' .. redis.call('TYPE', KEYS[1]).ok .. ')'} end
if standing and standing ~= value then return {0, told(standing)} end
if ms == '0' then
  redis.call('SET', KEYS[1], value)
else
  redis.call('SET', KEYS[1], value, 'PX', ms)
end
return {1, ''}
