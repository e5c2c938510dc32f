-- Reads the newest lines of so many histories, and writes nothing.
--
-- KEYS: the streams. ARGV: 1 how many lines of each at most.
-- Returns {1 all of it fitted or 0 not, {id, line, id, line, ...}, ...}, newest first, a list for
--   each stream up to that in which the room ran out. Lines of more than 4,096 bytes are left out:
--   none of ours is that long. The reply has a few megabytes at most.
-- Atomic: the histories are of one moment.

-- @include read.lua
local room = 4000000
local answer = {1}
for at = 1, #KEYS do
  local lines = {}
  answer[#answer + 1] = lines
  for _, entry in ipairs(read('XREVRANGE', KEYS[at], '+', '-', 'COUNT', ARGV[1]) or {}) do
    local line = ''
    for field = 1, #entry[2], 2 do
      if entry[2][field] == 'run' then line = entry[2][field + 1] end
    end
    if #line <= 4096 then
      room = room - #line - 60
      if room < 0 then
        answer[1] = 0
        return answer
      end
      lines[#lines + 1] = entry[1]
      lines[#lines + 1] = line
    end
  end
end
return answer
