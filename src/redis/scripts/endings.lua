-- Part of other scripts.
-- endings(runs, value, members): {token, ms, ...}, those holders of a lock whose run has ended, and
-- when by this master's time of day. `value`: of the key; `members`: {slot and value, ms left, ...}
-- of the holders beside it. --hold-at-least keeps the key after the run, whose line is written with
-- the release, as the newest lines at `runs` (lines.lua) tell: most likely one of fifty, in front
-- of it only those of waiters that have left since. A line that was written twice tells of the
-- first time. Without the right to read a history nothing is known of it.

local function endings(runs, value, members)
  local isHolder, endedAt, flat = {[string.match(value, '^[^ ]*')] = true}, {}, {}
  for at = 1, #members, 2 do isHolder[string.match(members[at], '^%d+ ([^ ]*)') or ''] = true end
  for _, entry in ipairs(redis.pcall('LRANGE', runs, 0, 49)) do
    local ms, token = string.match(entry, '^(%d+) {"v":1,"token":"([^"]*)"')
    if token and isHolder[token] then endedAt[token] = ms end
  end
  for token, ms in pairs(endedAt) do
    flat[#flat + 1] = token
    flat[#flat + 1] = math.min(tonumber(ms), 9007199254740991)
  end
  return flat
end
