-- Which lists of masters have been used lately, and by which hosts: fields beside the mark, so that
-- what removes the mark removes them too.
--
-- KEYS: 1 the mark, a hash; of each host a field `list:<host>`: when it was written, in ms since
--   1970 by this server, and the list.
-- ARGV: 1 our host, '': those of all hosts are read; 2 the list to write for it, '': none.
-- Returns {host, for how many ms it has stood, list} of the youngest field of each list, and that
--   of our host, or of all; 1: written; 0: there is no mark, or the user or the server does not
--   allow it.
-- Atomic: what is removed to make room must be the oldest.

-- @include clock.lua
local mostHosts, mostMs = 100, 7 * 24 * 60 * 60 * 1000
local host, list = ARGV[1], ARGV[2]
local known = redis.pcall('HGETALL', KEYS[1])
if known.err then return 0 end
local hasMark, entries = false, {}
for at = 1, #known, 2 do
  local name, ms, text = known[at], string.match(known[at + 1], '^(%d+) (.*)$')
  if name == 'id' then hasMark = true end
  if string.sub(name, 1, 5) == 'list:' and ms then
    entries[#entries + 1] = {string.sub(name, 6), now_ms() - ms, text}
  end
end
if not hasMark then return 0 end
table.sort(entries, function(a, b) return a[2] < b[2] end)
if list == '' then
  local seen, found = {}, {}
  for at, entry in ipairs(entries) do
    if at <= mostHosts and (host == '' or entry[1] == host or not seen[entry[3]]) then
      seen[entry[3]], found[#found + 1] = true, entry
    end
  end
  return found
end
local count = 1
for _, entry in ipairs(entries) do
  if entry[1] ~= host then count = count + 1 end
  if entry[1] ~= host and (count > mostHosts or entry[2] > mostMs) then
    redis.pcall('HDEL', KEYS[1], 'list:' .. entry[1])
  end
end
local value = string.format('%.0f', now_ms()) .. ' ' .. list
if type(redis.pcall('HSET', KEYS[1], 'list:' .. host, value)) == 'table' then return 0 end
return 1
