-- Part of other scripts, after clock.lua and silence.lua.
-- The wait queue of resource `i`: a sorted set of waiters by arrival, and one of the same waiters
-- by their last sign of life, in ms. A waiter without a sign of life for silentMs is removed,
-- and so is at once one that has no subscriber: if it lives, its next request puts it back in its
-- position. Both sets expire by themselves, keepQueueMs after the last sign of life.
-- No call pays for all that have died: it removes some of those in either set, and passes the
-- rest over.
-- drop_silent(i): removes those without a sign of life.
-- waiters(i): the others, in order.
-- position(i, id): how many of them are before this one; nil where it is none of them.
-- see(i, id, arrival): enters a waiter, or notes its sign of life.
-- has(id, trait): whether a waiter's id, `<traits>:<random>:<pid>@<host>`, names this trait. Ids of
-- an older version have `newest` for `supersede`.
-- wake(channel, id): wakes a waiter over its own channel; false where it has no subscriber.

local keepQueueMs, mostDropped = 10000, 100
local function queue(i) return KEYS[i * 5 - 2] end
local function seen(i) return KEYS[i * 5 - 1] end
local function forget(i, id)
  redis.call('ZREM', queue(i), id)
  redis.call('ZREM', seen(i), id)
end
local function see(i, id, arrival)
  redis.call('ZADD', queue(i), arrival, id)
  redis.call('ZADD', seen(i), now_ms(), id)
  redis.call('PEXPIRE', queue(i), keepQueueMs)
  redis.call('PEXPIRE', seen(i), keepQueueMs)
end
local hasDropped = {}
local function drop_silent(i)
  if hasDropped[i] then return end
  hasDropped[i] = true
  local last = now_ms() - silentMs
  local silent = redis.call('ZRANGEBYSCORE', seen(i), '-inf', last, 'LIMIT', 0, mostDropped)
  if #silent == 0 then return end
  redis.call('ZREM', queue(i), unpack(silent))
  redis.call('ZREM', seen(i), unpack(silent))
end
-- Those alive, where more than they stand in the queue; else nil. Some of the others are removed.
local function alive_among_dead(i)
  drop_silent(i)
  local alive = redis.call('ZRANGEBYSCORE', seen(i), '(' .. now_ms() - silentMs, '+inf')
  if #redis.call('ZRANGE', queue(i), #alive, #alive) == 0 then return nil end
  local arrivals, ids = {}, {}
  for _, id in ipairs(alive) do
    arrivals[id] = tonumber(redis.call('ZSCORE', queue(i), id) or '')
    if arrivals[id] then ids[#ids + 1] = id end
  end
  for _, id in ipairs(redis.call('ZRANGE', queue(i), 0, mostDropped - 1)) do
    if not arrivals[id] then forget(i, id) end
  end
  table.sort(ids, function(a, b)
    return arrivals[a] < arrivals[b] or (arrivals[a] == arrivals[b] and a < b)
  end)
  return ids
end
local function waiters(i)
  return alive_among_dead(i) or redis.call('ZRANGE', queue(i), 0, -1)
end
local function position(i, id)
  local ids = alive_among_dead(i)
  if not ids then return redis.call('ZRANK', queue(i), id) or nil end
  for place, other in ipairs(ids) do
    if other == id then return place - 1 end
  end
end
local function has(id, trait)
  local traits = string.gsub(string.match(id, '^([^:]*):') or '', 'newest', 'supersede')
  return string.find(',' .. traits .. ',', ',' .. trait .. ',', 1, true) ~= nil
end
local function wake(channel, id) return redis.call('PUBLISH', channel .. id, '') > 0 end
