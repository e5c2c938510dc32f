-- Part of other scripts, after clock.lua. Needs `value`, `mode` and `slot`.
-- The holders of resource `i`, where they may be several: the key holds only a mode then, and the
-- holders stand beside it: a sorted set of `<slot> <value>` (slot 0: none) by the time of day in ms
-- at which each ends. They count for nothing once the key is gone.
-- is_mode(text), slots_in(mode): `shared`, which has no slots, or `slots <number>`.
-- living(i): those beside the key that have not ended: {slot, value, endsAt} each.
-- last(i): in how many ms the last of them ends; 0: there is none.
-- shown(i): whether this master shows us as a holder: 1 yes, 0 another one, -1 none.
-- hold(i, ttl): shows us as a holder for `ttl` ms; a mode stays until the last holder ends.

local function slots_in(text) return tonumber(string.match(text, '^slots (%d+)$') or '0') end
local function is_mode(text) return text == 'shared' or slots_in(text) > 0 end
local function key(i) return KEYS[i * 5 - 4] end
local function holders(i) return KEYS[i * 5] end
local function living(i)
  redis.call('ZREMRANGEBYSCORE', holders(i), '-inf', now_ms())
  local found = {}
  local flat = redis.call('ZRANGE', holders(i), 0, -1, 'WITHSCORES')
  for at = 1, #flat, 2 do
    local slot, value = string.match(flat[at], '^(%d+) (.*)$')
    found[#found + 1] = {slot = slot, value = value, endsAt = tonumber(flat[at + 1])}
  end
  return found
end
local function last(i)
  local lastMs = 0
  for _, one in ipairs(living(i)) do lastMs = math.max(lastMs, one.endsAt - now_ms()) end
  return lastMs
end
local function shown(i)
  local holder = redis.pcall('GET', key(i))
  if holder == false then return -1 end
  if holder ~= mode then return 0 end
  for _, one in ipairs(living(i)) do
    if one.slot == slot and one.value == value then return 1 end
    if one.slot == slot and slot ~= '0' then return 0 end
  end
  return -1
end
local function hold(i, ttl)
  redis.call('ZADD', holders(i), now_ms() + ttl, slot .. ' ' .. value)
  local lastMs = last(i)
  redis.call('SET', key(i), mode, 'PX', lastMs)
  redis.call('PEXPIRE', holders(i), lastMs)
end
