-- Notes another owner of the time that stands at a key of the older protocol; the time stays. What
-- is no time and never expires is removed: there is nothing to wait for.
--
-- KEYS: 1 key, 2 owner key. ARGV: 1 value, 2 what takes its place.
-- Returns 1 exchanged or removed, 0 another holder's, -1 missing.
-- Atomic: another program could take the key over between the comparison and the SET.

local value, by = unpack(ARGV, 1, 2)
-- @include clock.lua
-- @include time.setnx.lua
local time = redis.pcall('GET', KEYS[1])
if time == false then return -1 end
if type(time) == 'table' or (time ~= value and owner_of(time, KEYS[2]) ~= value) then return 0 end
local endsAt = end_of(time)
local leftMs = redis.call('PTTL', KEYS[1])
if endsAt then leftMs = math.max(1, math.ceil(endsAt + differenceMs - now_ms())) end
if leftMs > 0 then
  redis.call('SET', KEYS[2], time .. ' ' .. by, 'PX', leftMs)
else
  redis.call('DEL', KEYS[1])
end
return 1
