-- Releases a lock of the older protocol: DEL where the time that stands there is ours, which no
-- program has taken over then; or sets the time that others are to keep away for. The holder of
-- another program is removed by the time itself as value.
--
-- KEYS: 1 key, 2 note, with a line 3 the stream of the history.
-- ARGV: 1 value, 2 ms to keep it (0: remove), 3 how many ms are one unit of time in the key, 4 a
--   line for the history ('': none).
-- Returns 1 released, 0 another holder's, -1 missing.
-- Atomic: another program could take the key over between the comparison and the DEL.

local value, keepMs, unitMs, line = unpack(ARGV, 1, 4)
local stream = KEYS[3]
if line ~= '' then
  local entry = redis.pcall('XADD', stream, 'MAXLEN', '~', 1000, '*', 'run', line)
  if type(entry) == 'string' then redis.pcall('PEXPIRE', stream, 2592000000) end
end
-- @include clock.lua
-- @include time.setnx.lua
-- @include put.setnx.lua
local mark = redis.pcall('GET', KEYS[1])
if mark == false then return -1 end
if type(mark) == 'table' or (mark ~= value and owner_of(mark, KEYS[2]) ~= value) then return 0 end
if tonumber(keepMs) > 0 then
  put(tonumber(keepMs))
else
  redis.call('DEL', KEYS[1])
  redis.call('DEL', KEYS[2])
end
return 1
