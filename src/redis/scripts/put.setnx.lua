-- Part of the scripts of the older protocol, after time.setnx.lua. Needs `value`, and `unitMs`: how
-- many ms are one unit of time in the key.
-- put(ttl): the key becomes ours for so many ms.

local function put(ttl)
  local unit = tonumber(unitMs)
  local ends = math.floor(now_ms() / unit) + math.ceil((ttl + differenceMs) / unit) + 1
  local time = string.format('%.0f', ends)
  local keep = math.ceil(time * unit - now_ms() + differenceMs)
  redis.call('SET', KEYS[1], time, 'PX', keep)
  redis.call('SET', KEYS[2], time .. ' ' .. value, 'PX', keep)
end
