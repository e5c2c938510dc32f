-- Part of other scripts, after counter.lua. Needs `fence` and `keep`.
-- Every counter becomes at least `fence`, and expires after `keep` ms without use (0: none is
-- touched). Ends the script with the error where one is corrupt. Numbers are written with %.0f:
-- Lua's own tostring keeps 14 digits, and a counter has 16.

for at = 2, keep == '0' and 0 or #KEYS, 5 do
  local count, err = count_in(KEYS[at])
  if err then return err end
  if (count or 0) < tonumber(fence) then
    redis.call('SET', KEYS[at], string.format('%.0f', fence), 'PX', keep)
  else
    redis.call('PEXPIRE', KEYS[at], keep)
  end
end
