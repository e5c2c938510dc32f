-- Adds what a person has done to the history of a lock.
--
-- KEYS: 1 key of the lock, then the two of its history and the two of all histories (lines.lua).
-- ARGV: 1 the line, 2 and 3 `index` and `mostBytes` of lines.lua.
-- Returns 1 added, 0 refused (out of memory, a key of another type).
-- Atomic: a history that is added to and does not expire would stay for ever.

local line, index, mostBytes = unpack(ARGV, 1, 3)
-- @include clock.lua
-- @include lines.lua
return pcall(add_run, KEYS[1], line, '') and 1 or 0
