-- Removes exactly this freeze, adds that to the history, and wakes the first waiters.
--
-- KEYS: five of the lock, as in acquire.lua, 6 the freeze, then the two of its history and the two
--   of all histories (lines.lua).
-- ARGV: 1 value, 2 start of the channels' names, 3 the line ('': none), 4 and 5 `index` and
--   `mostBytes` of lines.lua.
-- Returns 1 removed, 0 another freeze, -1 missing.
-- Atomic: another freeze could be set between the comparison and the DEL.

local value, channel, line, index, mostBytes = unpack(ARGV, 1, 5)
local standing = redis.pcall('GET', KEYS[6])
if standing == false then return -1 end
if standing ~= value then return 0 end
redis.call('DEL', KEYS[6])
-- @include clock.lua
-- @include lines.lua
if line ~= '' then pcall(add_run, KEYS[1], line, '') end
-- @include silence.lua
-- @include queue.lua
-- @include front.lua
if redis.call('EXISTS', KEYS[3]) == 1 then wake_front(1, channel, '', 0) end
return 1
