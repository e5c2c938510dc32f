-- Part of other scripts, after clock.lua. Needs `index` and `mostBytes`.
-- The history: beside each key a list of lines `<ms> <line>`, newest first, and a hash of facts:
--   success: when a run last ended well, in ms;
--   skip <host>: `<count> <since> <success> <first ms> <last ms> <run> <line>\n<holder>`, of the
--   runs of this host that were refused and did not wait; `since` counts those after `success`.
--   At most a hundred hosts are kept.
-- All keys that have one stand in one sorted set under `index`, by the second of their last change.
-- Below the second the score has the size, in units of 64 bytes; a counter has the size of all.
-- What has not changed for thirty days is removed, and beyond `mostBytes` what has not changed for
-- longest, in small steps. Errors reach no caller: a master that is full, that allows it to nothing
-- or has something else there keeps no history.
-- record_run(key, line, isSuccess), record_skip(key, line, host, run, holder),
-- remove_skip(key, host, run): as their names say. A run that is recorded again is counted once.

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
local function keep(key)
  redis.call('PEXPIRE', runs_of(key), lifeMs)
  redis.call('PEXPIRE', facts_of(key), lifeMs)
  fit(key)
end
local function record_run(key, line, isSuccess)
  local entry = text_of(now_ms()) .. ' ' .. line
  grow(key, units(entry))
  if redis.call('LPUSH', runs_of(key), entry) > 1000 then
    grow(key, -units(redis.call('RPOP', runs_of(key))))
  end
  if isSuccess == '1' then redis.call('HSET', facts_of(key), 'success', text_of(now_ms())) end
  keep(key)
end
local skipForm = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'
local function put_skip(key, host, known, text)
  grow(key, (text and units(text) or 0) - (known and units(known) or 0))
  if text then
    redis.call('HSET', facts_of(key), 'skip ' .. host, text)
  else
    redis.call('HDEL', facts_of(key), 'skip ' .. host)
  end
end
-- Hosts that come once and never again, such as containers, push out the one seen longest ago.
local function drop_host(key)
  local facts, oldest, seen = redis.call('HGETALL', facts_of(key)), nil, math.huge
  for at = 1, #facts, 2 do
    local _, _, _, _, lastMs = string.match(facts[at + 1], skipForm)
    if lastMs and tonumber(lastMs) < seen then oldest, seen = at, tonumber(lastMs) end
  end
  if oldest then put_skip(key, string.sub(facts[oldest], 6), facts[oldest + 1], nil) end
end
local function record_skip(key, line, host, run, holder)
  local known = redis.call('HGET', facts_of(key), 'skip ' .. host)
  local success = redis.call('HGET', facts_of(key), 'success') or '0'
  local count, since, after, first, _, last = string.match(known or '', skipForm)
  count, since = tonumber(count or 0), after == success and tonumber(since) or 0
  if last ~= run then count, since = count + 1, since + 1 end
  local hosts = redis.call('HLEN', facts_of(key)) - (success == '0' and 0 or 1)
  if not known and hosts >= 100 then drop_host(key) end
  local ms = text_of(now_ms())
  local parts = {text_of(count), text_of(since), success, first or ms, ms, run, line}
  put_skip(key, host, known, table.concat(parts, ' ') .. '\n' .. holder)
  keep(key)
end
local function remove_skip(key, host, run)
  local known = redis.call('HGET', facts_of(key), 'skip ' .. host)
  local count, since, after, first, ms, last, rest = string.match(known or '', skipForm)
  if last ~= run then return end
  if tonumber(count) == 1 then return put_skip(key, host, known, nil) end
  local left = math.max(0, tonumber(since) - 1)
  local parts = {text_of(count - 1), text_of(left), after, first, ms, '-', rest}
  put_skip(key, host, known, table.concat(parts, ' '))
end
