-- Releases a lock of the older protocol: DEL where the time that stands there is ours, which no
-- program has taken over then; or sets the time that others are to keep away for. The holder of
-- another program is removed by the time itself as value.
--
-- KEYS: 1 key, 2 owner key; behind them, with a line, those of the history (lines.lua).
-- ARGV: 1 value, 2 ms to keep it (0: remove), 3 how many ms are one unit of time in the key, 4 a
--   line for the history ('': none), then `index` and `mostBytes` of lines.lua, and 1 if the run
--   ended well.
-- Returns 1 released, 0 another holder's, -1 missing.
-- Atomic: another program could take the key over between the comparison and the DEL.

local value, keepMs, unitMs, line, index, mostBytes, isSuccess = unpack(ARGV, 1, 7)
-- @include clock.lua
-- @history
if line ~= '' then
  -- @include lines.lua
  pcall(add_run, KEYS[1], line, isSuccess)
end
-- @end
-- @include time.setnx.lua
-- @include put.setnx.lua
local time = redis.pcall('GET', KEYS[1])
if time == false then return -1 end
if type(time) == 'table' or (time ~= value and owner_of(time, KEYS[2]) ~= value) then return 0 end
if tonumber(keepMs) > 0 then
  put(tonumber(keepMs))
else
  redis.call('DEL', KEYS[1])
  redis.call('DEL', KEYS[2])
end
return 1
