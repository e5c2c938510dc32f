-- The older protocol. A key contains the unix time at which its lock ends: SETNX, GET, GETSET and
-- DEL of the old page of SETNX ("Design pattern: locking with SETNX"), each side's part of it in
-- one step. Other programs compare what GETSET returns instead; we need not.
--
-- KEYS: 1 the key, 2 the owner key, `<time> <value>`, which is for ourselves. It counts only while
-- it names the very time that is at the key, because programs that know nothing of it take the key
-- over. All times are by this master's own clock: it is one clock for all of us.
-- `unitMs`: how many ms are one unit of time in the key. Replies and other arguments are those of
-- the verbs of lock.lua and operator.lua.
-- Atomic, all of them: another program could take the key over between the comparison and the SET.

-- For other programs, whose clocks differ, at both ends: our time is a second later than we use it,
-- and theirs is over a second after it has come.
local differenceMs = 1000
-- In ms; false for what is no time. Milliseconds are understood as well: seconds have twelve digits
-- in 3,000 years, and milliseconds sixteen in 30,000.
local function end_of(stamp)
  if type(stamp) ~= 'string' or not string.find(stamp, '^%d+%.?%d*$') then return false end
  local number = tonumber(stamp)
  if number >= 1000000000000000 then return false end
  return (number < 100000000000 and number * 1000 or number) + differenceMs
end
-- The value that the owner key gives this time to, or false.
local function owner_of(stamp, ownerKey)
  local owner = redis.call('GET', ownerKey) or ''
  return string.sub(owner, 1, #stamp + 1) == stamp .. ' ' and string.sub(owner, #stamp + 2)
end
-- 1: the key is ours, or contains our value itself, which is how an operator names the holder of
-- another program; 0 another holder's; -1 missing.
local function owned(stamp)
  if stamp == false then return -1 end
  return type(stamp) == 'string'
    and (stamp == value or owner_of(stamp, KEYS[2]) == value) and 1 or 0
end
-- The key becomes ours for this many ms.
local function put(forMs)
  local unit = tonumber(unitMs)
  local ends = math.floor(nowMs / unit) + math.ceil((forMs + differenceMs) / unit) + 1
  local keep = math.ceil(ends * unit - nowMs + differenceMs)
  redis.call('SET', KEYS[1], text_of(ends), 'PX', keep)
  redis.call('SET', KEYS[2], text_of(ends) .. ' ' .. value, 'PX', keep)
end

-- SETNX where the key is absent; where its time is over, GETSET with the check that follows it.
-- Also where it is ours already.
function setnx_acquire(value, ttl, unitMs, index, maxBytes, line, host, run, repeated)
  local stamp = redis.pcall('GET', KEYS[1])
  local owner = type(stamp) == 'string' and owner_of(stamp, KEYS[2])
  local leftMs = -1
  if stamp and owner ~= value then
    local endsAt = end_of(stamp)
    leftMs = endsAt and endsAt - nowMs or redis.call('PTTL', KEYS[1])
    if not endsAt or leftMs >= 0 then
      local holder = summary(KEYS[1], endsAt and owner or stamp)
      -- @history
      if line ~= '' then pcall(add_skip, KEYS[1], line, host, run, holder) end
      -- @end
      leftMs = leftMs >= 0 and math.ceil(leftMs)
      return {0, 'holder', holder, 'remainingMs', leftMs, 'position', false,
        'masterTimeUs', nowUs}
    end
  end
  put(ttl)
  -- @history
  if repeated == '1' then pcall(remove_skip, KEYS[1], host, run) end
  -- @end
  return {1, 0}
end

-- A later time where the one that is there is ours. Another program that lost a GETSET has moved
-- the time, which is then no holder's: that counts as taken.
function setnx_extend(value, ttl, unitMs)
  local stamp = redis.pcall('GET', KEYS[1])
  if stamp == false then return {-1} end
  if type(stamp) == 'table' or owner_of(stamp, KEYS[2]) ~= value then return {0} end
  put(ttl)
  return {1, 'masterTimeUs', nowUs}
end

-- DEL where the time that is there is ours, which no program has taken over then; or sets the time
-- that others are to keep away for.
function setnx_release(value, keepMs, unitMs, index, maxBytes, line, isSuccess)
  -- @history
  if line ~= '' then pcall(add_run, KEYS[1], line, isSuccess) end
  -- @end
  local state = owned(redis.pcall('GET', KEYS[1]))
  if state < 1 then return state end
  if tonumber(keepMs) > 0 then
    put(keepMs)
  else
    redis.call('DEL', KEYS[1], KEYS[2])
  end
  return 1
end

-- KEYS: the keys of `count` locks, then all owner keys, then the lists of lines of their histories.
-- A time that is over is not a lock.
function setnx_look(count)
  count = tonumber(count)
  local locks = {}
  for i = 1, count do
    local stamp, ended = redis.pcall('GET', KEYS[i]), {}
    local kind, ttl = redis.call('TYPE', KEYS[i]).ok, redis.call('PTTL', KEYS[i])
    local holder = type(stamp) == 'string' and (owner_of(stamp, KEYS[count + i]) or stamp)
    local endsAt = end_of(stamp)
    if endsAt then ttl = math.ceil(endsAt - nowMs) end
    if endsAt and ttl < 0 then kind, holder, ttl = 'none', false, -2 end
    -- @history
    if holder then ended = endings(KEYS[count * 2 + i], holder, {}) end
    -- @end
    locks[i] = {'type', kind, 'value', holder and string.sub(holder, 1, 4097), 'ttl', ttl,
      'fence', false, 'queue', {}, 'holders', {}, 'freeze', false, 'freezeTtl', -2,
      'endings', ended}
  end
  return locks
end

-- Notes another owner of the time that is at a key; the time stays. What is no time and never
-- expires is removed: there is nothing to wait for.
function setnx_exchange(value, by)
  local stamp = redis.pcall('GET', KEYS[1])
  local state = owned(stamp)
  if state < 1 then return state end
  local endsAt = end_of(stamp)
  local leftMs = redis.call('PTTL', KEYS[1])
  if endsAt then leftMs = math.max(1, math.ceil(endsAt - nowMs)) end
  if leftMs > 0 then
    redis.call('SET', KEYS[2], stamp .. ' ' .. by, 'PX', leftMs)
  else
    redis.call('DEL', KEYS[1])
  end
  return 1
end
