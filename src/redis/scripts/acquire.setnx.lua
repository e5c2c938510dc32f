-- Acquires a lock of the older protocol: SETNX where the key is absent; where its time is over,
-- GETSET with the check that follows it. Also where it is ours already.
--
-- KEYS: 1 key, 2 owner key.
-- ARGV: 1 value, 2 ttl in ms, 3 how many ms are one unit of time in the key. For a claim that does
--   not wait then, as in acquire.lua: index, mostBytes, line, host, run, 1 if the run was refused
--   before.
-- Returns {1, 0} granted, or {0, holder's value or time, ms left (-1: no end), -1, seconds,
--   microseconds, '', {}, 0} refused, as acquire.lua does.
-- Atomic: other programs compare what GETSET gives them instead; we need not.

local value, ttl, unitMs = unpack(ARGV, 1, 3)
-- @include clock.lua
-- @include time.setnx.lua
-- @include put.setnx.lua
-- @include told.lua
-- @history
local index, mostBytes, line, host, run, repeated = unpack(ARGV, 4, 9)
-- @include lines.lua
-- @end
local function refuse(holder, leftMs)
  -- @history
  if line then pcall(add_skip, KEYS[1], line, host, run, told(holder)) end
  -- @end
  local seconds, microseconds = unpack(now())
  return {0, told(holder), math.ceil(leftMs), -1, tonumber(seconds), tonumber(microseconds), '', {},
    0}
end
local time = redis.pcall('GET', KEYS[1])
if type(time) == 'table' then
  return refuse('(a ' .. redis.call('TYPE', KEYS[1]).ok .. ')', redis.call('PTTL', KEYS[1]))
end
if time and owner_of(time, KEYS[2]) ~= value then
  local endsAt = end_of(time)
  if not endsAt then return refuse(time, redis.call('PTTL', KEYS[1])) end
  local leftMs = endsAt + differenceMs - now_ms()
  if leftMs >= 0 then return refuse(owner_of(time, KEYS[2]) or time, leftMs) end
end
put(tonumber(ttl))
-- @history
if repeated == '1' then pcall(remove_skip, KEYS[1], host, run) end
-- @end
return {1, 0}
