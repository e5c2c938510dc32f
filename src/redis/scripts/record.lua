-- Adds what a person has done to the history of a lock.
--
-- KEYS: 1 the stream. ARGV: 1 the line.
-- Returns 1 added, 0 refused (out of memory, a key of another type).
-- Atomic: a stream that is added to and does not expire would stay for ever.

-- @include append.lua
return append(KEYS[1], ARGV[1]) and 1 or 0
