-- Puts another value in the place of this one, for the time that this one had left. A key that
-- never expires is removed: there is nothing to wait for.
--
-- KEYS: 1 key. ARGV: 1 value, 2 what takes its place.
-- Returns 1 exchanged or removed, 0 another value, -1 missing.
-- Atomic: the key could expire and be taken between the comparison and the SET.

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
