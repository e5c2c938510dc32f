-- The mark of the data set of this server, one for all locks under a prefix: a server that comes
-- back without it was emptied, whatever it says about its disk.
--
-- KEYS: 1 the mark, a hash of `id` and `since`, in ms since 1970 by this server.
-- ARGV: 1 the id of a new mark, written where there is none; '': the mark is only read.
-- Returns {id, for how many ms it has stood}; {'', 0}: there is none, and none was written, as it
--   was not asked for or the server takes no writes for now; 0: the user or the server allows no
--   look, or no mark.
-- Atomic: of two clients that meet an empty server at once, the later one must not write another.

-- @include clock.lua
local id, since = redis.pcall('HGET', KEYS[1], 'id'), redis.pcall('HGET', KEYS[1], 'since')
if type(id) == 'table' or type(since) == 'table' then return 0 end
local forMs = id and now_ms() - (tonumber(since or '') or math.huge) or -1
if forMs >= 0 then return {id, forMs} end
if ARGV[1] == '' then return {'', 0} end
-- A clock that was ahead, and has been set since, must not keep the server from voting for years.
local newId, ms = id or ARGV[1], string.format('%.0f', now_ms())
local written = redis.pcall('HSET', KEYS[1], 'id', newId, 'since', ms)
if type(written) ~= 'table' then return {newId, 0} end
for _, code in ipairs({'OOM', 'MISCONF', 'NOREPLICAS'}) do
  if string.find(written.err, code, 1, true) then return {'', 0} end
end
return 0
