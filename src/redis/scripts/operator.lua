-- What is read and done without a run: looks, freezes, and values put in the place of others.

-- {token, ms, ...}: those holders of a lock whose run has ended, and when by this master's time of
-- day. `members`: {slot and value, ms left, ...} of the holders beside the key. --hold-at-least
-- keeps the key after the run, whose line is written with the release. So it is one of the newest
-- lines at `runs`: most likely one of fifty, in front of it only those of waiters that have left
-- since. A line that was written twice counts the first time. Without the right to read a history
-- nothing is known of it.
local function endings(runs, holder, members)
  local isHolder, endedAt, flat = {[string.match(holder, '^[^ ]*')] = true}, {}, {}
  for at = 1, #members, 2 do isHolder[string.match(members[at], '^%d+ ([^ ]*)') or ''] = true end
  for _, entry in ipairs(redis.pcall('LRANGE', runs, 0, 49)) do
    local ms, ended = string.match(entry, '^(%d+) {"v":1,"token":"([^"]*)"')
    if ended and isHolder[ended] then endedAt[ended] = ms end
  end
  for ended, ms in pairs(endedAt) do
    flat[#flat + 1] = ended
    flat[#flat + 1] = math.min(tonumber(ms), 9007199254740991)
  end
  return flat
end

-- Reads this many locks in one step, a hundred at most, and writes nothing. KEYS: behind the keys
-- of the locks the list of lines of each history.
-- Returns for each the names and values that snapshot.ts reads. A waiter without a sign of life for
-- silentMs is left out of the queue, and the holders beside the key are only those that have not
-- ended, under a key that is marked so. One byte more than the maximum of a value shows that it is
-- longer.
-- Atomic: a holder and a queue that are read one after the other may never have been so together.
--
-- The reply is bounded, whatever other clients have written: a few megabytes at most. Waiters and
-- holders that there is no room for (thousands) are left out, and ids are cut.
function look(count)
  count = tonumber(count)
  local maxValueBytes = 4096
  local room = 900000 - count * 5 * maxValueBytes / 4
  local function cut(text)
    text = string.sub(text, 1, maxValueBytes + 1)
    room = room - #text - 40
    return text
  end
  local function bounded(ms) return math.max(0, math.min(9007199254740991, math.floor(ms))) end
  local locks = {}
  for i = 1, count do
    local holder, fence = read('GET', KEYS[i]), read('GET', KEYS[count + i])
    local isAlive, queued = {}, {}
    local entries = read('ZRANGE', queue(i), 0, -1, 'WITHSCORES') or {}
    local since = '(' .. nowMs - silentMs
    local alive = #entries > 0 and read('ZRANGEBYSCORE', seen(i), since, '+inf') or {}
    for _, waiter in ipairs(alive) do isAlive[waiter] = true end
    for entry = 1, #entries, 2 do
      if isAlive[entries[entry]] and room > 0 then
        queued[#queued + 1] = cut(string.sub(entries[entry], 1, 200))
        queued[#queued + 1] = bounded(nowMs - entries[entry + 1] / 1000)
      end
    end
    local members = {}
    if holder and is_mode(holder) then
      local all = read('ZRANGEBYSCORE', holders(i), '(' .. nowMs, '+inf', 'WITHSCORES') or {}
      for entry = 1, #all, 2 do
        if room > 0 then
          members[#members + 1] = cut(all[entry])
          members[#members + 1] = bounded(all[entry + 1] - nowMs)
        end
      end
    end
    local freeze, ended = read('GET', freeze_key(i)), {}
    -- @history
    if holder then ended = endings(KEYS[count * 6 + i], holder, members) end
    -- @end
    locks[i] = {
      'type', redis.call('TYPE', KEYS[i]).ok,
      'value', holder and string.sub(holder, 1, maxValueBytes + 1),
      'ttl', redis.call('PTTL', KEYS[i]),
      'fence', fence and string.sub(fence, 1, 30),
      'queue', queued,
      'holders', members,
      'freeze', freeze and cut(freeze),
      'freezeTtl', redis.call('PTTL', freeze_key(i)),
      'endings', ended,
    }
  end
  return locks
end

-- Freezes a lock for `ms` (0: until thawed): from now on it has no new holder. The present one is
-- left alone. KEYS: 1 the freeze.
-- Returns {1, ''} frozen, or {0, beginning of the freeze that is there}.
-- Atomic: another freeze could be set between the comparison and the SET.
function freeze(value, ms)
  local current = redis.pcall('GET', KEYS[1])
  if current and current ~= value then return {0, summary(KEYS[1], current)} end
  if ms == '0' then
    redis.call('SET', KEYS[1], value)
  else
    redis.call('SET', KEYS[1], value, 'PX', ms)
  end
  return {1, ''}
end

-- Removes exactly this freeze, adds `line` to the history ('': none), and wakes the first waiters.
-- Returns 1 removed, 0 another freeze, -1 missing.
-- Atomic: another freeze could be set between the comparison and the DEL.
function thaw(value, count, line, index, maxBytes)
  count = tonumber(count)
  local current = redis.pcall('GET', freeze_key(1))
  if current == false then return -1 end
  if current ~= value then return 0 end
  redis.call('DEL', freeze_key(1))
  if line ~= '' then pcall(add_run, KEYS[1], line, '') end
  if redis.call('EXISTS', queue(1)) == 1 then wake_front(1, '', 0) end
  return 1
end

-- Puts the value `by` in the place of this one, for the time that this one had left. A key that
-- never expires is removed: there is nothing to wait for. KEYS: 1 the key.
-- Returns 1 exchanged or removed, 0 another value, -1 missing.
-- Atomic: the key could expire and be taken between the comparison and the SET.
function exchange(value, by)
  local holder = redis.pcall('GET', KEYS[1])
  if holder == false then return -1 end
  if holder ~= value then return 0 end
  local leftMs = redis.call('PTTL', KEYS[1])
  if leftMs > 0 then
    redis.call('SET', KEYS[1], by, 'PX', leftMs)
  else
    redis.call('DEL', KEYS[1])
  end
  return 1
end
