-- Shows us again on every resource that does not, for a holder whose lease a quorum has just
-- confirmed, unless another holder stands on one; and raises the counters.
--
-- KEYS: as in acquire.lua, without the freezes. ARGV: 1 to 6 as in extend.lua.
-- Returns 1 ours (again), 0 another holder's, or no slot that there is. An error where a counter is
--   corrupt.
-- Atomic: another client could take a resource, and count, in between.

local value, ttl, keep, fence, mode, slot = unpack(ARGV, 1, 6)
if mode == '' then
  for at = 1, #KEYS, 5 do
    local holder = redis.pcall('GET', KEYS[at])
    if holder and holder ~= value then return 0 end
  end
  for at = 1, #KEYS, 5 do redis.call('SET', KEYS[at], value, 'PX', ttl) end
else
  -- @forms
  -- @include clock.lua
  -- @include holders.lua
  local slotCount = slots_in(mode)
  if slotCount > 0 and (tonumber(slot) < 1 or tonumber(slot) > slotCount) then return 0 end
  for i = 1, #KEYS / 5 do
    if shown(i) == 0 then return 0 end
  end
  for i = 1, #KEYS / 5 do
    if redis.call('EXISTS', key(i)) == 0 then redis.call('DEL', holders(i)) end
    hold(i, ttl)
  end
  -- @end
end
-- @include counter.lua
-- @include raise.lua
return 1
