-- Part of other scripts.
-- now(): this master's time of day as TIME answers, asked once. now_ms(): the same in whole ms.

local time
local function now()
  time = time or redis.call('TIME')
  return time
end
local function now_ms() return now()[1] * 1000 + math.floor(now()[2] / 1000) end
