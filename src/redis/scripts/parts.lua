-- What the scripts share. A script is one verb, a function that is not local, with the local
-- functions that it needs, of all files. They see the verb's arguments: calls/scripts.ts.
--
-- KEYS of all verbs of a lock: of `count` resources their keys, then all counters, queues, signs of
-- life, sets of holders, and freezes. `i` is the number of a resource, from 1 on.

local function queue(i) return KEYS[count * 2 + i] end
local function seen(i) return KEYS[count * 3 + i] end
local function holders(i) return KEYS[count * 4 + i] end
local function freeze_key(i) return KEYS[count * 5 + i] end

-- The start of the names of the channels for wake-ups; each ends with the id of a waiter.
local function channel(i) return '{' .. KEYS[i] .. '}:wake:' end

-- This master's time of day, which a script asks for once, where it first needs it.
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local nowUs = clock[1] * 1000000 + clock[2]

-- Numbers in full: Lua's own tostring keeps 14 digits, and a counter has 16.
local function text_of(number) return string.format('%.0f', number) end

-- What is reported of the value at a key: its first 1,024 bytes, or '(a hash)' for a key of another
-- type. An empty text means that there is none.
local function summary(name, value)
  if type(value) == 'table' then return '(a ' .. redis.call('TYPE', name).ok .. ')' end
  return value == '' and '(an empty value)' or string.sub(value, 1, 1024)
end

-- A key of the wrong type reads as absent; no right to read it is an error, and not an empty one.
local function read(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE') then return false end
  return redis.call(...)
end

-- What a counter contains, or nil where it is absent, or nil and the error to return where it
-- contains what no counting has made: beyond 2^53 neither Lua nor JavaScript counts by ones, and
-- the largest counter of all would be copied to every master.
local function count_in(name)
  local text = redis.call('GET', name)
  if not text then return nil end
  local number = string.find(text, '^%d+$') and tonumber(text)
  if number and number < 9007199254740991 then return number end
  return nil, {err = 'FENCE ' .. name .. ' holds no number that counting makes (delete this key)'}
end

-- Every counter becomes at least `fence`, and expires after `keep` ms without use (0: none is
-- touched). Returns the error where one is corrupt.
local function raise()
  for i = 1, keep == '0' and 0 or count do
    local name = KEYS[count + i]
    local number, err = count_in(name)
    if err then return err end
    if (number or 0) < tonumber(fence) then
      redis.call('SET', name, fence, 'PX', keep)
    else
      redis.call('PEXPIRE', name, keep)
    end
  end
end

-- Where the holders may be several, the key contains only a mode, `shared` or `slots <number>`. The
-- holders are beside it: a sorted set of `<slot> <value>` (slot 0: none) by the time of day in ms
-- at which each ends. They count for nothing once the key is gone.
local function slots_in(text) return tonumber(string.match(text, '^slots (%d+)$') or '0') end
local function is_mode(text) return text == 'shared' or slots_in(text) > 0 end
-- Those that have not ended.
local function living(i)
  redis.call('ZREMRANGEBYSCORE', holders(i), '-inf', nowMs)
  local found = {}
  local flat = redis.call('ZRANGE', holders(i), 0, -1, 'WITHSCORES')
  for at = 1, #flat, 2 do
    local number, member = string.match(flat[at], '^(%d+) (.*)$')
    found[#found + 1] = {slot = number, value = member, endsAt = tonumber(flat[at + 1])}
  end
  return found
end
-- In how many ms the last of them ends; 0: there is none.
local function last_end(i)
  local lastMs = 0
  for _, one in ipairs(living(i)) do lastMs = math.max(lastMs, one.endsAt - nowMs) end
  return lastMs
end
-- Whether this master shows us as a holder: 1 yes, 0 another one, -1 none.
local function shown(i)
  local holder = redis.pcall('GET', KEYS[i])
  if not holder then return -1 end
  -- @forms
  if mode ~= '' then
    if holder ~= mode then return 0 end
    for _, one in ipairs(living(i)) do
      if one.slot == slot and one.value == value then return 1 end
      if one.slot == slot and slot ~= '0' then return 0 end
    end
    return -1
  end
  -- @end
  return holder == value and 1 or 0
end
-- Shows us as a holder for `ttl` ms. A mode stays until the last holder ends.
local function hold(i)
  if mode == '' then return redis.call('SET', KEYS[i], value, 'PX', ttl) end
  -- @forms
  redis.call('ZADD', holders(i), nowMs + ttl, slot .. ' ' .. value)
  local lastMs = last_end(i)
  redis.call('SET', KEYS[i], mode, 'PX', lastMs)
  redis.call('PEXPIRE', holders(i), lastMs)
  -- @end
end
