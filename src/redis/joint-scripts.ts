// The Lua scripts of locks that are more than one key held by one holder: shared ones, slots,
// several resources at once, and waiters that give way to newer ones. scripts.ts has the plain
// ones, which keep the same queues and stand in the same places, so that both exclude one another.
// Note: what the key itself holds then is only a mark (sharing.ts); its holders stand beside it,
// each with an end of its own, and count for nothing once the key is gone.

import { holding, joint } from './joint-parts.ts';

/**
 * Holds all resources, or none where one of them is not free for us: held by another, or waiters
 * that cannot stand beside us are before us in its queue. A claim that shares passes others that
 * share; one for a slot that is not free, or that there is not, is told which ones are free. Where
 * there is room for one more, the next waiter behind us is woken; those before us have been.
 * A waiter that yields removes the older ones that do from the queues, and calls them, so that they go; where there is a newer
 * one he is told so, and has no place. Whoever comes to the front by that is called. For three seconds it counts as being there what has just been granted, so that those whom it removed
 * hear of it. One that wants a lock replaced calls its holders.
 * ARGV: 1 value, 2 ttl in ms, 3 ms to keep the counters (0: no fence), 4 our id in the queues ('': we do not wait), 5 our
 * arrival in microseconds, 6 mark ('': exclusive), 7 slot (0: none), 8 ... starts of the channels' names, one a resource.
 * Returns {1, fence}, one for all resources, or {0, holder or mark ('': others are first), PTTL, place (-1: none), seconds,
 * microseconds, id of the newer waiter ('': none), {free slots}}.
 * Atomic: in between, somebody could take one of the resources, or come first.
 */
export const jointAcquireScript = `${joint}${holding}
local value, ttl, keep, id, arrival, mark, slot = unpack(ARGV, 1, 7)
for i = 1, keep == '0' and 0 or count do
  local err = corrupt(counter(i))
  if err then return err end
end
local slotCount = tonumber(string.match(mark, '^slots (%d+)$') or '0')
local function channel(i) return ARGV[7 + i] end
local function answer(holder, remainingMs, by, slots)
  local place = -1
  for i = 1, count do
    if id ~= '' and by == '' then place = math.max(place, redis.call('ZRANK', queue(i), id)) end
  end
  return {0, holder, remainingMs, place, tonumber(time[1]), tonumber(time[2]), by, slots}
end
local function comes_after(since, other)
  return since > tonumber(arrival) or (since == tonumber(arrival) and other > id)
end
local newer, known = '', {}
for i = 1, count do
  for _, other in ipairs(waiters(i)) do
    if id ~= '' and other ~= id and has(id, 'newest') and has(other, 'newest') then
      if comes_after(tonumber(redis.call('ZSCORE', queue(i), other)), other) then
        newer = other
      else
        known[i] = known[i] or leaders(i, other)
        forget(i, other)
        hears(channel(i), other)
      end
    end
  end
  for _, one in ipairs(has(id, 'newest') and redis.call('ZRANGE', seen(i), 0, -1) or {}) do
    local since, other = string.match(one, '^served (%S+) (.*)$')
    if since and other ~= id and comes_after(tonumber(since), other) then newer = other end
  end
end
for i = 1, count do
  if newer ~= '' then
    known[i] = known[i] or leaders(i, id)
    forget(i, id)
  end
  if known[i] then call_front(i, channel(i), id, known[i]) end
end
if newer ~= '' then return answer('', 0, newer, {}) end
if id ~= '' then
  for i = 1, count do see(i, id, arrival) end
end
local function call_holder(i, value)
  if has(id, 'replace') then hears(channel(i), 'holder:' .. (string.match(value, '^%S+') or '')) end
end
local blocker, blockedMs = false, 0
local isFree, isOurs = {}, {}
local function block(holder, remainingMs)
  blocker = blocker or holder
  if blockedMs >= 0 then blockedMs = remainingMs < 0 and -1 or math.max(blockedMs, remainingMs) end
end
local taken, soonestMs = {}, math.huge
for i = 1, count do
  local holder = redis.pcall('GET', key(i))
  if type(holder) == 'table' then
    block('(a ' .. redis.call('TYPE', key(i)).ok .. ')', redis.call('PTTL', key(i)))
  elseif holder == false then
    isFree[i] = true
    redis.call('DEL', holders(i))
  elseif holder ~= (mark == '' and value or mark) then
    block(told(holder), redis.call('PTTL', key(i)))
    call_holder(i, holder)
    if holder == 'shared' or string.find(holder, '^slots %d+$') then
      for _, one in ipairs(living(i)) do call_holder(i, one.value) end
    end
  else
    isOurs[i] = mark == ''
    for _, one in ipairs(mark == '' and {} or living(i)) do
      if one.value == value then
        isOurs[i] = true
      elseif slotCount > 0 then
        taken[one.slot] = true
        soonestMs = math.min(soonestMs, one.endsAt - nowMs)
      end
    end
  end
end
local slots, isFreeSlot = {}, {}
for number = 1, slotCount do
  if not taken[tostring(number)] then
    slots[#slots + 1] = number
    isFreeSlot[tostring(number)] = true
  end
end
if slotCount > 0 and #slots == 0 then
  block(mark, soonestMs)
  for i = 1, count do
    for _, one in ipairs(living(i)) do
      if one.slot == '1' then call_holder(i, one.value) end
    end
  end
end
if blocker then return answer(blocker, blockedMs, '', {}) end
for i = 1, count do
  for _, other in ipairs(isOurs[i] and {} or waiters(i)) do
    if other == id then break end
    if mark ~= 'shared' or not has(other, 'shared') then
      local askedAt = tonumber(redis.call('ZSCORE', seen(i), other) or 0)
      local isCalled = isFree[i] or slotCount > 0
      if not isCalled or askedAt > nowMs - 500 or hears(channel(i), other) then
        return answer('', math.max(0, redis.call('PTTL', key(i))), '', {})
      end
      forget(i, other)
    end
  end
end
if slotCount > 0 and not isFreeSlot[slot] then return answer(mark, 0, '', slots) end
for i = 1, count do
  hold(i, mark, slot, value, ttl)
  local hasRoom = mark == 'shared' or (slotCount > 0 and #living(i) < slotCount)
  local isBehindUs = false
  for _, other in ipairs(hasRoom and waiters(i) or {}) do
    if other == id then
      isBehindUs = true
    elseif isBehindUs then
      if (mark == 'shared' and not has(other, 'shared')) or hears(channel(i), other) then break end
      forget(i, other)
    end
  end
  if id ~= '' then forget(i, id) end
  if has(id, 'newest') then
    redis.call('ZADD', seen(i), nowMs, 'served ' .. arrival .. ' ' .. id)
    redis.call('PEXPIRE', seen(i), #waiters(i) > 0 and 10000 or 3000)
  end
end
if tonumber(keep) == 0 then return {1, 0} end
local fence = 0
for i = 1, count do
  fence = math.max(fence, tonumber(redis.call('GET', counter(i)) or time[1] * 1000000 + time[2]) + 1)
end
for i = 1, count do redis.call('SET', counter(i), string.format('%.0f', fence), 'PX', keep) end
return {1, fence}
`;

/**
 * Sets the time to live anew where all resources show us, and raises the counters.
 * ARGV: 1 value, 2 ttl in ms, 3 ms to keep the counters (0: no fence), 4 the fence, 5 mark, 6 slot, 7 our arrival, where we would
 * give it up for a newer waiter, 0 if we never waited ('': we never give it up). Where all slots are taken, only the
 * holder of the first is wanted: one is enough.
 * Returns {1, seconds, microseconds, id of the newest who wants it ('': none)}; {0} somebody else's; {-1} gone. In both of the latter no
 * holder changes.
 * Atomic: the key could expire and be taken between the comparison and the PEXPIRE.
 */
export const jointExtendScript = `${joint}${holding}
local value, ttl, keep, fence, mark, slot, arrival = unpack(ARGV, 1, 7)
local slotCount = tonumber(string.match(mark, '^slots (%d+)$') or '0')
local least = 1
for i = 1, count do
  local state = shown(i, mark, slot, value)
  if state == 0 then return {0} end
  least = math.min(least, state)
end
if least < 1 then return {-1} end
local wantedBy = ''
for i = 1, count do
  if mark == '' then redis.call('PEXPIRE', key(i), ttl) else hold(i, mark, slot, value, ttl) end
  local isAsked = arrival ~= '' and (slotCount == 0 or (slot == '1' and #living(i) >= slotCount))
  for _, other in ipairs(isAsked and waiters(i) or {}) do
    local isInTheWay = mark ~= 'shared' or not has(other, 'shared')
    local isNewer = tonumber(redis.call('ZSCORE', queue(i), other)) > tonumber(arrival)
    if isInTheWay and isNewer and has(other, 'replace') then wantedBy = other end
  end
end
local err = keep ~= '0' and raise(tonumber(fence), keep)
if err then return err end
return {1, tonumber(time[1]), tonumber(time[2]), wantedBy}
`;

/**
 * Shows us on every resource that does not, for a holder whose lease a quorum has just proven, unless somebody else stands on one.
 * ARGV as in extend. Returns 1 ours (again), 0 another holder's, or no slot that there is.
 * Atomic: somebody else could take one, and count, in between.
 */
export const jointHealScript = `${joint}${holding}
local value, ttl, keep, fence, mark, slot = unpack(ARGV, 1, 6)
local slotCount = tonumber(string.match(mark, '^slots (%d+)$') or '0')
if slotCount > 0 and (tonumber(slot) < 1 or tonumber(slot) > slotCount) then return 0 end
for i = 1, count do
  if shown(i, mark, slot, value) == 0 then return 0 end
end
for i = 1, count do
  if mark ~= '' and redis.call('EXISTS', key(i)) == 0 then redis.call('DEL', holders(i)) end
  hold(i, mark, slot, value, ttl)
end
return keep ~= '0' and raise(tonumber(fence), keep) or 1
`;

/**
 * Removes us from every resource that shows us, or lets that expire so much later. Lines for the histories come first, places in the queues
 * are given up or kept, and the first in line is called, and others with him, all as in the plain release; but who shares is no news to
 * others who do, unless the key ends sooner without him: he may have been the only one who would have told of its end.
 * ARGV: 1 value, 2 ms to keep it (0: remove), 3 our id in the queues ('': none), 4 our arrival ('': give up the places), 5 mark,
 * 6 slot, 7 the line ('': none), 8 ... starts of the channels' names, one a resource, then the streams, one a resource.
 * Returns 1 released (on any resource), 0 somebody else's, -1 gone.
 * Atomic: a key could expire and be taken between the comparison and the DEL.
 */
export const jointReleaseScript = `${joint}${holding}
local value, keepMs, id, arrival, mark, slot, line = unpack(ARGV, 1, 7)
local code = -1
for i = 1, count do
  if line ~= '' then
    local stream = ARGV[7 + count + i]
    local entry = redis.pcall('XADD', stream, 'MAXLEN', '~', 1000, '*', 'run', line)
    if type(entry) == 'string' then redis.pcall('PEXPIRE', stream, 2592000000) end
  end
end
for i = 1, count do
  local state = shown(i, mark, slot, value)
  local isFreed = state == 1
  local beforeMs = mark == 'shared' and last(i) or 0
  code = math.max(code, state)
  if state == 1 and mark == '' then
    if tonumber(keepMs) > 0 then redis.call('PEXPIRE', key(i), keepMs) else redis.call('DEL', key(i)) end
  elseif state == 1 then
    redis.call('ZREM', holders(i), slot .. ' ' .. value)
    if tonumber(keepMs) > 0 then redis.call('ZADD', holders(i), nowMs + keepMs, slot .. ' ' .. value) end
    local lastMs = last(i)
    if lastMs > 0 then redis.call('PEXPIRE', key(i), lastMs) else redis.call('DEL', key(i), holders(i)) end
    isFreed = lastMs <= tonumber(keepMs) or lastMs < beforeMs or mark ~= 'shared'
  end
  local known = nil
  if id ~= '' and arrival == '' then
    known = leaders(i, id)
    forget(i, id)
    if redis.call('EXISTS', queue(i)) == 0 then redis.call('PEXPIRE', seen(i), 3000) end
  elseif id ~= '' then
    see(i, id, arrival)
  end
  local first = isFreed and waiters(i)[1]
  if first and (mark ~= 'shared' or not has(first, 'shared')) then known = 0 end
  if known then call_front(i, ARGV[7 + i], id, known) end
end
return code
`;
