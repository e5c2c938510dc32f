-- Reads the newest lines and the facts of so many histories (lines.lua), and writes nothing.
--
-- KEYS: two each, the list of lines and the hash of facts. ARGV: 1 how many lines of each at most.
-- Returns {1 all of it fitted or 0 not, time of this master in ms, {{line, ...}, {fact, value,
--   ...}}, ...}, newest first, one for each history up to that in which the room ran out. What has
--   more than 4,096 bytes is left out: none of ours is that long. The reply has a few megabytes at
--   most.
-- Atomic: the histories are of one moment.

-- @include clock.lua
-- @include read.lua
local room = 4000000
local answer = {1, now_ms()}
for at = 1, #KEYS, 2 do
  local lines, facts = {}, {}
  answer[#answer + 1] = {lines, facts}
  local known = read('HGETALL', KEYS[at + 1]) or {}
  for pair = 1, #known, 2 do
    local bytes = #known[pair] + #known[pair + 1]
    if bytes <= 4096 and room > bytes + 60 then
      room = room - bytes - 60
      facts[#facts + 1] = known[pair]
      facts[#facts + 1] = known[pair + 1]
    end
  end
  for _, line in ipairs(read('LRANGE', KEYS[at], 0, ARGV[1] - 1) or {}) do
    if #line <= 4096 then
      room = room - #line - 60
      if room < 0 then
        answer[1] = 0
        return answer
      end
      lines[#lines + 1] = line
    end
  end
end
return answer
