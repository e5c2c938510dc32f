-- The history: beside each key a list of lines `<ms> <line>`, newest first, and a hash of facts:
--   success: when a run last ended well, in ms;
--   skip <host>: `<count> <since> <success> <first ms> <last ms> <run> <line>\n<holder>`, of the
--   runs of this host that were refused and did not wait; `since` counts those after `success`.
--   At most a hundred hosts are kept;
--   run <token>: `<ms> <line>`, when a run has acquired the lock, and what is known of it. Its line
--   in the list, or a rollback, removes it. At most a hundred are kept.
-- All keys that have one are in one sorted set, whose key begins with `index`, by the second of
-- their last change. Below the second the score has the size, in units of 64 bytes; a counter has
-- the size of all. What has not changed for thirty days is removed, and beyond `maxBytes` what has
-- not changed for longest, in small steps. Callers ignore errors: a master that is full, that
-- allows no history or has something else there keeps none. A run that is added again is counted
-- once.

local names, size = index .. ':names:history', index .. ':size:history'
local lifeMs, unitBytes, range = 2592000000, 64, 2097152
local function runs_of(key) return '{' .. key .. '}:runs:history' end
local function facts_of(key) return '{' .. key .. '}:facts:history' end
local function units(text) return math.ceil((#text + 16) / unitBytes) end
local function drop(key, score)
  redis.call('DEL', runs_of(key), facts_of(key))
  redis.call('ZREM', names, key)
  redis.call('DECRBY', size, text_of(tonumber(score) % range))
end
local function grow(key, added)
  local known = tonumber(redis.call('ZSCORE', names, key) or 0) % range
  if known == 0 then added = added + math.ceil((440 + 4 * #key) / unitBytes) end
  local score = tonumber(clock[1]) * range + math.max(1, math.min(range - 1, known + added))
  redis.call('ZADD', names, text_of(score), key)
  redis.call('INCRBY', size, text_of(added))
  redis.call('PEXPIRE', names, lifeMs)
  redis.call('PEXPIRE', size, lifeMs)
end
local function fit(own)
  local since = text_of((tonumber(clock[1]) - lifeMs / 1000) * range)
  local old = redis.call('ZRANGEBYSCORE', names, '-inf', since, 'WITHSCORES', 'LIMIT', 0, 20)
  for at = 1, #old, 2 do drop(old[at], old[at + 1]) end
  for _ = 1, 100 do
    local total = tonumber(redis.call('GET', size) or 0)
    if total * unitBytes <= tonumber(maxBytes) then return end
    local first = redis.call('ZRANGE', names, 0, 0, 'WITHSCORES')
    if first[1] ~= own then
      drop(first[1], first[2])
    else
      local line = redis.call('RPOP', runs_of(own))
      if not line then return end
      grow(own, -units(line))
    end
  end
end
local function retain(key)
  redis.call('PEXPIRE', runs_of(key), lifeMs)
  redis.call('PEXPIRE', facts_of(key), lifeMs)
  fit(key)
end
-- What comes once and never again, such as a container or a run that was killed, is pushed out by
-- the next one, the oldest first. `form` finds its time.
local maxLines, maxFacts = 1000, 100
local function put_fact(key, field, known, text)
  grow(key, (text and units(text) or 0) - (known and units(known) or 0))
  if text then
    redis.call('HSET', facts_of(key), field, text)
  else
    redis.call('HDEL', facts_of(key), field)
  end
end
local function make_room(key, prefix, form)
  if redis.call('HLEN', facts_of(key)) < maxFacts then return end
  local facts, oldest, oldestMs, kept = redis.call('HGETALL', facts_of(key)), nil, math.huge, 0
  for at = 1, #facts, 2 do
    if string.sub(facts[at], 1, #prefix) == prefix then
      local ms = tonumber(string.match(facts[at + 1], form) or 0)
      if ms < oldestMs then oldest, oldestMs = at, ms end
      kept = kept + 1
    end
  end
  if kept >= maxFacts then put_fact(key, facts[oldest], facts[oldest + 1], nil) end
end
local function add_start(key, token, line)
  local field = 'run ' .. token
  if redis.call('HGET', facts_of(key), field) then return end
  make_room(key, 'run ', '^(%d+) ')
  put_fact(key, field, nil, text_of(nowMs) .. ' ' .. line)
  retain(key)
end
local function remove_start(key, token)
  local known = redis.call('HGET', facts_of(key), 'run ' .. token)
  if not known then return end
  put_fact(key, 'run ' .. token, known, nil)
  if redis.call('EXISTS', runs_of(key), facts_of(key)) > 0 then return end
  drop(key, redis.call('ZSCORE', names, key))
end
local function add_run(key, line, isSuccess)
  local entry = text_of(nowMs) .. ' ' .. line
  grow(key, units(entry))
  if redis.call('LPUSH', runs_of(key), entry) > maxLines then
    grow(key, -units(redis.call('RPOP', runs_of(key))))
  end
  if isSuccess == '1' then redis.call('HSET', facts_of(key), 'success', text_of(nowMs)) end
  local token = string.match(line, '^{"v":1,"token":"([^"]*)"')
  if token then remove_start(key, token) end
  retain(key)
end
local skipForm = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'
local function add_skip(key, line, host, run, holder)
  local field = 'skip ' .. host
  local known = redis.call('HGET', facts_of(key), field)
  local success = redis.call('HGET', facts_of(key), 'success') or '0'
  local total, since, after, first, _, last = string.match(known or '', skipForm)
  total, since = tonumber(total or 0), after == success and tonumber(since) or 0
  if last ~= run then total, since = total + 1, since + 1 end
  if not known then make_room(key, 'skip ', '^%d+ %d+ %d+ %d+ (%d+) ') end
  local ms = text_of(nowMs)
  local words = {text_of(total), text_of(since), success, first or ms, ms, run, line}
  put_fact(key, field, known, table.concat(words, ' ') .. '\n' .. holder)
  retain(key)
end
local function remove_skip(key, host, run)
  local field = 'skip ' .. host
  local known = redis.call('HGET', facts_of(key), field)
  local total, since, after, first, ms, last, rest = string.match(known or '', skipForm)
  if last ~= run then return end
  if tonumber(total) == 1 then return put_fact(key, field, known, nil) end
  local left = math.max(0, tonumber(since) - 1)
  local words = {text_of(total - 1), text_of(left), after, first, ms, '-', rest}
  put_fact(key, field, known, table.concat(words, ' '))
end

-- Reads the `maxCount` newest lines and the facts of the histories of this many locks, and writes
-- nothing. KEYS: all lists of lines, then all hashes of facts.
-- Returns, by their names, whether all of it fitted, the time of this master in ms, and for each
-- history up to that in which the room ran out {{line, ...}, {fact, value, ...}}, newest first.
-- What has more than 4,096 bytes is left out: none of ours is that long. The reply has a few
-- megabytes at most.
-- Atomic: the histories are of one moment.
function history(count, maxCount)
  count = tonumber(count)
  local room, isWhole, histories = 4000000, 1, {}
  for i = 1, count do
    local lines, facts = {}, {}
    histories[i] = {lines, facts}
    local known = read('HGETALL', KEYS[count + i]) or {}
    for pair = 1, #known, 2 do
      local bytes = #known[pair] + #known[pair + 1]
      if bytes <= 4096 and room > bytes + 60 then
        room = room - bytes - 60
        facts[#facts + 1] = known[pair]
        facts[#facts + 1] = known[pair + 1]
      end
    end
    for _, line in ipairs(read('LRANGE', KEYS[i], 0, maxCount - 1) or {}) do
      room = room - (#line <= 4096 and #line + 60 or 0)
      if room < 0 then break end
      if #line <= 4096 then lines[#lines + 1] = line end
    end
    if room < 0 then
      isWhole = 0
      break
    end
  end
  return {'isWhole', isWhole, 'nowMs', nowMs, 'histories', histories}
end

-- Adds `line`, on what an operator has done, to the history of a lock. KEYS: 1 key of the lock,
-- then the two of its history and the two of all histories.
-- Returns 1 added, 0 refused (out of memory, a key of another type).
-- Atomic: a history that is added to and does not expire would stay indefinitely.
function act(line, index, maxBytes)
  return pcall(add_run, KEYS[1], line, '') and 1 or 0
end
