-- The wait queue of a resource: a sorted set of waiters by arrival, and one of the same waiters by
-- their last sign of life, in ms. A waiter without a sign of life for silentMs is removed, and so
-- is at once one that has no subscriber: if it lives, its next request puts it back in its
-- position. Both sets expire by themselves, keepQueueMs after the last sign of life.
-- No call pays for all that have died: it removes some of those in either set, and passes the rest
-- over.

-- A waiter gives a sign of life three times as often: wait.ts.
local silentMs = 3000
local keepQueueMs, maxDropped = 10000, 100

local function forget(i, waiter)
  redis.call('ZREM', queue(i), waiter)
  redis.call('ZREM', seen(i), waiter)
end
-- Enters us, or notes our sign of life.
local function see(i)
  redis.call('ZADD', queue(i), arrival, id)
  redis.call('ZADD', seen(i), nowMs, id)
  redis.call('PEXPIRE', queue(i), keepQueueMs)
  redis.call('PEXPIRE', seen(i), keepQueueMs)
end
local hasDropped = {}
local function drop_silent(i)
  if hasDropped[i] then return end
  hasDropped[i] = true
  local since = nowMs - silentMs
  local silent = redis.call('ZRANGEBYSCORE', seen(i), '-inf', since, 'LIMIT', 0, maxDropped)
  if #silent == 0 then return end
  redis.call('ZREM', queue(i), unpack(silent))
  redis.call('ZREM', seen(i), unpack(silent))
end
-- Those alive, where more than they are in the queue; else nil. Some of the others are removed.
local function alive_among_dead(i)
  drop_silent(i)
  local alive = redis.call('ZRANGEBYSCORE', seen(i), '(' .. nowMs - silentMs, '+inf')
  if #redis.call('ZRANGE', queue(i), #alive, #alive) == 0 then return nil end
  local arrivals, ids = {}, {}
  for _, one in ipairs(alive) do
    arrivals[one] = tonumber(redis.call('ZSCORE', queue(i), one) or '')
    if arrivals[one] then ids[#ids + 1] = one end
  end
  for _, one in ipairs(redis.call('ZRANGE', queue(i), 0, maxDropped - 1)) do
    if not arrivals[one] then forget(i, one) end
  end
  table.sort(ids, function(a, b)
    return arrivals[a] < arrivals[b] or (arrivals[a] == arrivals[b] and a < b)
  end)
  return ids
end
-- The others, in order.
local function waiters(i)
  return alive_among_dead(i) or redis.call('ZRANGE', queue(i), 0, -1)
end
-- How many of them are ahead of us; nil where we are none of them.
local function position(i)
  local ids = alive_among_dead(i)
  if not ids then return redis.call('ZRANK', queue(i), id) or nil end
  for place, other in ipairs(ids) do
    if other == id then return place - 1 end
  end
end
-- Whether a waiter's id, `<traits>:<random>:<pid>@<host>`, names this trait.
local function has(waiter, trait)
  local traits = string.match(waiter, '^([^:]*):') or ''
  return string.find(',' .. traits .. ',', ',' .. trait .. ',', 1, true) ~= nil
end
-- Wakes a waiter over its own channel; false where it has no subscriber.
local function wake(i, waiter) return redis.call('PUBLISH', channel(i) .. waiter, '') > 0 end

-- How many waiters are ahead of this one, where those behind it may come to the front when it
-- leaves: none, or only some that share, which others that share may pass; else nil.
local function leaders(i, waiter)
  for place, other in ipairs(waiters(i)) do
    if other == waiter and (place == 1 or not has(waiter, 'shared')) then return place - 1 end
    if other == waiter or not has(other, 'shared') then return nil end
  end
end
-- Wakes the first waiter and, where it shares and could have the lock now, those right behind it
-- that share: it may have to wait for another resource. It leaves out the first `known`, which are
-- known to be there, and none from `limit` on is woken.
local function wake_front(i, limit, known)
  local holder = redis.pcall('GET', KEYS[i])
  local isOpen, sharerCount = holder == false or holder == 'shared', 0
  for place, other in ipairs(waiters(i)) do
    local shares = has(other, 'shared')
    if other == limit or (sharerCount > 0 and not (shares and isOpen)) then return end
    if place <= known or wake(i, other) then
      if not shares then return end
      sharerCount = sharerCount + 1
    else
      forget(i, other)
    end
  end
end
