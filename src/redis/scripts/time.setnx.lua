-- Part of the scripts of the older protocol, after clock.lua. A key holds the unix time at which
-- its lock ends there: SETNX, GET, GETSET and DEL of the old page of SETNX ("Design pattern:
-- locking with SETNX"), each side's part of it in one step.
--
-- Beside the key stands the owner key, `<time> <value>`, for ourselves. It counts only
-- while it names the very time that stands at the key, because programs that know nothing of it
-- take the key over. All times are by this master's own clock: it is one clock for all of us.
-- differenceMs is for other programs, whose clocks differ, at both ends: our time is a second later
-- than we use it, and theirs is over a second after it has come.
--
-- end_of(time): in ms; false for what is no time. Milliseconds are understood as well: seconds have
-- twelve digits in 3,000 years, and milliseconds sixteen in 30,000.
-- owner_of(time, ownerKey): the value that the owner key gives this time to, or false.

local differenceMs = 1000
local function end_of(time)
  if not string.find(time, '^%d+%.?%d*$') then return false end
  local number = tonumber(time)
  if number >= 1000000000000000 then return false end
  return number < 100000000000 and number * 1000 or number
end
local function owner_of(time, ownerKey)
  local owner = redis.call('GET', ownerKey) or ''
  return string.sub(owner, 1, #time + 1) == time .. ' ' and string.sub(owner, #time + 2)
end
