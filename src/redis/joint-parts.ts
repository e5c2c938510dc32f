// What the scripts of joint-scripts.ts have in common, as text that they begin with. No script by
// itself. It stands apart from the plain scripts' own helpers, although it does the same with the
// same queues; those are short because they know one key.

import { counting, telling } from './scripts.ts';

/**
 * KEYS: five for each resource, in this order: key, counter, queue, signs of life, holders. The last is a sorted set of
 * `<slot> <value>` by the time of day, in ms, at which each ends. Dead waiters are dropped as in scripts.ts.
 * living(i): the holders, each with his end. has(id, trait): what a waiter's id says of him (waiter-id.ts). leaders(i, id): how many
 * are before him, where those behind him may come to the front when he goes: nobody, or only some who share, whom others that do may pass;
 * else nil. call_front(i, channel, id, known): calls the first in line and, where he shares and could have it now, those right behind him who
 * share: he may have to wait for another resource. Not so many as are known to be there already, and nobody beyond `id`.
 */
export const joint = `${counting}${telling}
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local count = #KEYS / 5
local function key(i) return KEYS[i * 5 - 4] end
local function counter(i) return KEYS[i * 5 - 3] end
local function queue(i) return KEYS[i * 5 - 2] end
local function seen(i) return KEYS[i * 5 - 1] end
local function holders(i) return KEYS[i * 5] end
local function forget(i, id)
  redis.call('ZREM', queue(i), id)
  redis.call('ZREM', seen(i), id)
end
local function see(i, id, arrival)
  redis.call('ZADD', queue(i), arrival, id)
  redis.call('ZADD', seen(i), nowMs, id)
  redis.call('PEXPIRE', queue(i), 10000)
  redis.call('PEXPIRE', seen(i), 10000)
end
local function waiters(i)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', seen(i), '-inf', nowMs - 3000)) do forget(i, id) end
  return redis.call('ZRANGE', queue(i), 0, -1)
end
local function has(id, trait)
  local traits = string.match(id, '^([^:]*):')
  return traits and string.find(',' .. traits .. ',', ',' .. trait .. ',', 1, true) ~= nil
end
local function hears(channel, id) return redis.call('PUBLISH', channel .. id, '') > 0 end
local function leaders(i, id)
  for place, other in ipairs(waiters(i)) do
    if other == id and (place == 1 or not has(id, 'shared')) then return place - 1 end
    if other == id or not has(other, 'shared') then return nil end
  end
end
local function call_front(i, channel, id, known)
  local holder = redis.pcall('GET', key(i))
  local isOpen, sharerCount = holder == false or holder == 'shared', 0
  for place, other in ipairs(waiters(i)) do
    local shares = has(other, 'shared')
    if other == id or (sharerCount > 0 and not (shares and isOpen)) then return end
    if place <= known or hears(channel, other) then
      if not shares then return end
      sharerCount = sharerCount + 1
    else
      forget(i, other)
    end
  end
end
local function living(i)
  redis.call('ZREMRANGEBYSCORE', holders(i), '-inf', nowMs)
  local found = {}
  local flat = redis.call('ZRANGE', holders(i), 0, -1, 'WITHSCORES')
  for at = 1, #flat, 2 do
    local slot, value = string.match(flat[at], '^(%d+) (.*)$')
    found[#found + 1] = {slot = slot, value = value, endsAt = tonumber(flat[at + 1])}
  end
  return found
end
`;

/**
 * last(i): in how many ms the last of the holders ends; 0: there is none. hold(i, ...): sets what shows that we hold resource i; the mark
 * stays until that end. shown(i, ...): whether we are shown to hold it: 1 yes, 0 somebody else is, -1 nobody is. raise(floor, keep): as in
 * scripts.ts, for all counters.
 */
export const holding = `
local function last(i)
  local lastMs = 0
  for _, one in ipairs(living(i)) do lastMs = math.max(lastMs, one.endsAt - nowMs) end
  return lastMs
end
local function hold(i, mark, slot, value, ttl)
  if mark == '' then
    redis.call('SET', key(i), value, 'PX', ttl)
    return
  end
  redis.call('ZADD', holders(i), nowMs + ttl, slot .. ' ' .. value)
  local lastMs = last(i)
  redis.call('SET', key(i), mark, 'PX', lastMs)
  redis.call('PEXPIRE', holders(i), lastMs)
end
local function shown(i, mark, slot, value)
  local holder = redis.pcall('GET', key(i))
  if holder == false then return -1 end
  if mark == '' then return holder == value and 1 or 0 end
  if holder ~= mark then return 0 end
  for _, one in ipairs(living(i)) do
    if one.slot == slot and one.value == value then return 1 end
    if one.slot == slot and slot ~= '0' then return 0 end
  end
  return -1
end
local function raise(floor, keep)
  for i = 1, count do
    local err = corrupt(counter(i))
    if err then return err end
    local count = tonumber(redis.call('GET', counter(i)) or '0')
    if count < floor then
      redis.call('SET', counter(i), string.format('%.0f', floor), 'PX', keep)
    else
      redis.call('PEXPIRE', counter(i), keep)
    end
  end
end
`;
