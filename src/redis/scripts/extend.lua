-- Extends a lock where every resource shows us as a holder, and raises the counters.
--
-- KEYS: as in acquire.lua, without the freezes.
-- ARGV: 1 value, 2 ttl in ms, 3 ms to keep the counters (0: no fence), 4 the fence, 5 mode, 6 slot,
--   7 our arrival, where a newer waiter may replace us, 0 where we never waited ('':
--   none may).
-- Returns {1, seconds, microseconds, id of the waiter that is to replace us ('': none)} extended,
--   at this master's time; {0} another holder; {-1} missing. In both of the latter no holder
--   changes. Where a counter is corrupt: an error, and the keys are extended all the same, so that
--   they go on to keep others out.
-- Atomic: a key could expire and be taken between the comparison and the PEXPIRE.
--
-- PEXPIRE and not SET: it works on a master that is out of memory. Where all slots are taken, only
-- the holder of the first is replaced: one is enough.

local value, ttl, keep, fence, mode, slot, arrival = unpack(ARGV, 1, 7)
-- @include clock.lua
local isMissing, isAsked = false, arrival ~= ''
if mode == '' then
  for at = 1, #KEYS, 5 do
    local holder = redis.pcall('GET', KEYS[at])
    if holder and holder ~= value then return {0} end
    isMissing = isMissing or not holder
  end
  if isMissing then return {-1} end
  for at = 1, #KEYS, 5 do redis.call('PEXPIRE', KEYS[at], ttl) end
else
  -- @forms
  -- @include holders.lua
  for i = 1, #KEYS / 5 do
    local state = shown(i)
    if state == 0 then return {0} end
    isMissing = isMissing or state < 0
  end
  if isMissing then return {-1} end
  for i = 1, #KEYS / 5 do
    hold(i, ttl)
    local slotCount = slots_in(mode)
    isAsked = isAsked and (slotCount == 0 or (slot == '1' and #living(i) >= slotCount))
  end
  -- @end
end
local replacedBy = ''
-- @forms
if isAsked then
  -- @include silence.lua
  -- @include queue.lua
  for i = 1, #KEYS / 5 do
    for _, other in ipairs(waiters(i)) do
      local isInTheWay = mode ~= 'shared' or not has(other, 'shared')
      local isNewer = tonumber(redis.call('ZSCORE', queue(i), other)) > tonumber(arrival)
      if isInTheWay and isNewer and has(other, 'replace') then replacedBy = other end
    end
  end
end
-- @end
-- @include counter.lua
-- @include raise.lua
return {1, tonumber(now()[1]), tonumber(now()[2]), replacedBy}
