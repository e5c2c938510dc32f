-- Part of other scripts, after clock.lua. Needs `index` and `mostBytes`.
-- The history: beside each key a list of lines `<ms> <line>`, newest first, and a hash of facts:
--   success: when a run last ended well, in ms;
--   skip <host>: `<count> <since> <success> <first ms> <last ms> <run> <line>\n<holder>`, of the
--   runs of this host that were refused and did not wait; `since` counts those after `success`.
--   At most a hundred hosts are kept;
--   run <token>: `<ms> <line>`, when a run has acquired the lock, and what is known of it. Its line
--   in the list, or a rollback, removes it. At most a hundred are kept.
-- All keys that have one stand in one sorted set under `index`, by the second of their last change.
-- Below the second the score has the size, in units of 64 bytes; a counter has the size of all.
-- What has not changed for thirty days is removed, and beyond `mostBytes` what has not changed for
-- longest, in small steps. Errors reach no caller: a master that is full, that allows it to nothing
-- or has something else there keeps no history.
-- add_run(key, line, isSuccess), add_start(key, token, line), remove_start(key, token),
-- add_skip(key, line, host, run, holder), remove_skip(key, host, run): as their names
-- say. A run that is added again is counted once.

local names, size = (index or '') .. ':names:history', (index or '') .. ':size:history'
local lifeMs, unitBytes, range = 2592000000, 64, 2097152
local function text_of(number) return string.format('%.0f', number) end
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
  local score = tonumber(now()[1]) * range + math.max(1, math.min(range - 1, known + added))
  redis.call('ZADD', names, text_of(score), key)
  redis.call('INCRBY', size, text_of(added))
  redis.call('PEXPIRE', names, lifeMs)
  redis.call('PEXPIRE', size, lifeMs)
end
local function fit(own)
  local last = text_of((tonumber(now()[1]) - lifeMs / 1000) * range)
  local old = redis.call('ZRANGEBYSCORE', names, '-inf', last, 'WITHSCORES', 'LIMIT', 0, 20)
  for at = 1, #old, 2 do drop(old[at], old[at + 1]) end
  for _ = 1, 100 do
    local total = tonumber(redis.call('GET', size) or 0)
    if total * unitBytes <= tonumber(mostBytes) then return end
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
local mostLines, mostFacts = 1000, 100
local function put_fact(key, field, known, text)
  grow(key, (text and units(text) or 0) - (known and units(known) or 0))
  if text then
    redis.call('HSET', facts_of(key), field, text)
  else
    redis.call('HDEL', facts_of(key), field)
  end
end
local function make_room(key, prefix, form)
  if redis.call('HLEN', facts_of(key)) < mostFacts then return end
  local facts, oldest, seen, count = redis.call('HGETALL', facts_of(key)), nil, math.huge, 0
  for at = 1, #facts, 2 do
    if string.sub(facts[at], 1, #prefix) == prefix then
      local ms = tonumber(string.match(facts[at + 1], form) or 0)
      if ms < seen then oldest, seen = at, ms end
      count = count + 1
    end
  end
  if count >= mostFacts then put_fact(key, facts[oldest], facts[oldest + 1], nil) end
end
local function add_start(key, token, line)
  local field = 'run ' .. token
  if redis.call('HGET', facts_of(key), field) then return end
  make_room(key, 'run ', '^(%d+) ')
  put_fact(key, field, nil, text_of(now_ms()) .. ' ' .. line)
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
  local entry = text_of(now_ms()) .. ' ' .. line
  grow(key, units(entry))
  if redis.call('LPUSH', runs_of(key), entry) > mostLines then
    grow(key, -units(redis.call('RPOP', runs_of(key))))
  end
  if isSuccess == '1' then redis.call('HSET', facts_of(key), 'success', text_of(now_ms())) end
  local token = string.match(line, '^{"v":1,"token":"([^"]*)"')
  if token then remove_start(key, token) end
  retain(key)
end
local skipForm = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'
local function add_skip(key, line, host, run, holder)
  local field = 'skip ' .. host
  local known = redis.call('HGET', facts_of(key), field)
  local success = redis.call('HGET', facts_of(key), 'success') or '0'
  local count, since, after, first, _, last = string.match(known or '', skipForm)
  count, since = tonumber(count or 0), after == success and tonumber(since) or 0
  if last ~= run then count, since = count + 1, since + 1 end
  if not known then make_room(key, 'skip ', '^%d+ %d+ %d+ %d+ (%d+) ') end
  local ms = text_of(now_ms())
  local parts = {text_of(count), text_of(since), success, first or ms, ms, run, line}
  put_fact(key, field, known, table.concat(parts, ' ') .. '\n' .. holder)
  retain(key)
end
local function remove_skip(key, host, run)
  local field = 'skip ' .. host
  local known = redis.call('HGET', facts_of(key), field)
  local count, since, after, first, ms, last, rest = string.match(known or '', skipForm)
  if last ~= run then return end
  if tonumber(count) == 1 then return put_fact(key, field, known, nil) end
  local left = math.max(0, tonumber(since) - 1)
  local parts = {text_of(count - 1), text_of(left), after, first, ms, '-', rest}
  put_fact(key, field, known, table.concat(parts, ' '))
end
