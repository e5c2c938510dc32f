-- Part of other scripts, after clock.lua.
-- The wait queue of resource `i`: a sorted set of waiters by arrival, and one of the same waiters
-- by their last sign of life, in ms. A waiter without a sign of life for silentMs is removed,
-- and so is at once one that has no subscriber: if it lives, its next request puts it back in its
-- position. Both sets expire by themselves, keepQueueMs after the last sign of life.
-- drop_silent(i): removes those without a sign of life.
-- waiters(i): the others, in order.
-- see(i, id, arrival): enters a waiter, or notes its sign of life.
-- has(id, trait): whether a waiter's id, `<traits>:<random>:<pid>@<host>`, names this trait.
-- wake(channel, id): wakes a waiter over its own channel; false where it has no subscriber.

local silentMs, keepQueueMs = 3000, 10000
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
local function drop_silent(i)
  local silent = redis.call('ZRANGEBYSCORE', seen(i), '-inf', now_ms() - silentMs)
  for _, id in ipairs(silent) do forget(i, id) end
end
local function waiters(i)
  drop_silent(i)
  return redis.call('ZRANGE', queue(i), 0, -1)
end
local function has(id, trait)
  local traits = string.match(id, '^([^:]*):')
  return traits and string.find(',' .. traits .. ',', ',' .. trait .. ',', 1, true) ~= nil
end
local function wake(channel, id) return redis.call('PUBLISH', channel .. id, '') > 0 end
