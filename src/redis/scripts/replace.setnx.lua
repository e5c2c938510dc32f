-- Notes another owner of the time that stands at a key of the older protocol; the time stays. What
-- is no time and never expires is removed: there is nothing to wait for.
--
-- KEYS: 1 key, 2 note. ARGV: 1 value, 2 what takes its place.
-- Returns 1 replaced or removed, 0 another holder's, -1 missing.
-- Atomic: another program could take the key over between the comparison and the SET.

local value, by = unpack(ARGV, 1, 2)
-- @include clock.lua
-- @include time.setnx.lua
local mark = redis.pcall('GET', KEYS[1])
if mark == false then return -1 end
if type(mark) == 'table' or (mark ~= value and owner_of(mark, KEYS[2]) ~= value) then return 0 end
local endsAt = end_of(mark)
local leftMs = redis.call('PTTL', KEYS[1])
if endsAt then leftMs = math.max(1, math.ceil(endsAt + differenceMs - now_ms())) end
if leftMs > 0 then
  redis.call('SET', KEYS[2], mark .. ' ' .. by, 'PX', leftMs)
else
  redis.call('DEL', KEYS[1])
end
return 1
