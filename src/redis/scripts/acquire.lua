-- Acquires one or several resources for one holder: all, or none where one is not free for us.
--
-- KEYS: five a resource: key, counter, queue, signs of life, holders; then one a resource: freeze.
-- ARGV: 1 value, 2 ttl in ms, 3 ms to keep the counters (0: no fence), 4 our id in the queues
--   ('': we do not wait), 5 our arrival in microseconds, 6 mode ('': exclusive; 'shared';
--   'slots <number>'), 7 slot (0: none), 8 ... starts of the channels' names, one a resource. For a
--   claim that leaves something in the history then, for lines.lua: index, mostBytes, token and
--   line of a run that has begun ('': none); and if it does not wait: line, host, run, 1 if the run
--   was refused before.
-- Returns {1, fence} granted, one fence for all resources (0: no fence); or {0, beginning of the
--   holder's value, or mode ('': others are first), PTTL (-1: never expires), position in the queue
--   (-1: none), seconds, microseconds, id of the newer waiter that superseded us ('': none), {free
--   slots}, which of several resources is not free (0: there is only one)} refused. A key of
--   another type counts as held, by '(a hash)' or so. An error where a counter is corrupt; then
--   nothing is done.
-- Atomic: between two requests another client could set a key, or count, or come first.
--
-- Our own value counts as free: it stems from an attempt whose answer was lost. A missing counter
-- starts at this master's time in microseconds, which no counter reaches by counting. Where others
-- wait, a free key is granted to the first of them only, and a waiter that is refused is entered. A
-- free key whose first waiter was not woken, or has no subscriber, is announced to it anew, unless
-- it has just asked for it. A freeze bars every new holder, and none that is there. A waiter that
-- wants the holder replaced is not entered then: it would have a holder stopped for nothing.

local value, ttl, keep, id, arrival, mode, slot = unpack(ARGV, 1, 7)
-- @include counter.lua
local fence, isNew, helpers = 0, false, #KEYS / 6 * 5
for at = 2, keep == '0' and 0 or helpers, 5 do
  local count, err = count_in(KEYS[at])
  if err then return err end
  fence = math.max(fence, count or 0)
  isNew = isNew or not count
end
-- One resource that nothing holds and nothing waits for, which is nearly always: none of what
-- follows is even defined then.
local isPlain = id == '' and mode == '' and #KEYS == 6
-- @history
local behind = 8 + #KEYS / 6
local index, mostBytes, token, start, line, host, run, repeated = unpack(ARGV, behind, behind + 7)
-- @include clock.lua
-- @include lines.lua
isPlain = isPlain and repeated ~= '1'
-- @end
local isQuiet = isPlain and redis.call('EXISTS', KEYS[3], KEYS[5], KEYS[6]) == 0
local set = isQuiet and redis.pcall('SET', KEYS[1], value, 'NX', 'PX', ttl)
if not set or not set.ok then
  -- @include clock.lua
  -- @include silence.lua
  -- @include queue.lua
  -- @include told.lua
  local count = #KEYS / 6
  local function channel(i) return ARGV[7 + i] end
  local function refuse(holder, remainingMs, by, slots, at)
    -- @history
    for i = 1, line and count or 0 do
      pcall(add_skip, KEYS[i * 5 - 4], line, host, run, holder)
    end
    -- @end
    local place = -1
    for i = 1, id ~= '' and by == '' and count or 0 do
      place = math.max(place, position(i, id) or -1)
    end
    local seconds, microseconds = unpack(now())
    return {0, holder, remainingMs, place, tonumber(seconds), tonumber(microseconds), by, slots,
      count > 1 and at or 0}
  end
  local freeze, frozenMs, frozenAt = nil, 0, nil
  for i = 1, count do
    drop_silent(i)
    local key = KEYS[helpers + i]
    local found = redis.pcall('GET', key)
    if found then
      freeze = type(found) == 'table' and '(a ' .. redis.call('TYPE', key).ok .. ')' or told(found)
      frozenMs, frozenAt = redis.call('PTTL', key), i
    end
  end

  -- @forms
  -- A waiter that supersedes others removes the older ones from the queues, and wakes
  -- them, so that they end; where there is a newer one, it is told so. One that was just granted
  -- the lock counts as there for silentMs, so that those that it removed learn of it.
  if has(id, 'supersede') then
    -- @include front.lua
    local newer, known = '', {}
    local function comes_after(since, other)
      return since > tonumber(arrival) or (since == tonumber(arrival) and other > id)
    end
    for i = 1, count do
      for _, other in ipairs(waiters(i)) do
        if other ~= id and has(other, 'supersede') then
          if comes_after(tonumber(redis.call('ZSCORE', queue(i), other)), other) then
            newer = other
          else
            known[i] = known[i] or leaders(i, other)
            forget(i, other)
            wake(channel(i), other)
          end
        end
      end
      for _, one in ipairs(redis.call('ZRANGE', seen(i), 0, -1)) do
        local since, other = string.match(one, '^served (%S+) (.*)$')
        if since and other ~= id and comes_after(tonumber(since), other) then newer = other end
      end
    end
    for i = 1, count do
      if newer ~= '' then
        known[i] = known[i] or leaders(i, id)
        forget(i, id)
      end
      if known[i] then wake_front(i, channel(i), id, known[i]) end
    end
    if newer ~= '' then return refuse('', 0, newer, {}) end
  end
  -- @end
  for i = 1, id ~= '' and count or 0 do
    if freeze and has(id, 'replace') then forget(i, id) else see(i, id, arrival) end
  end

  -- What others hold.
  local blocker, blockedAt, blockedMs, standing, isOurs = nil, nil, 0, {}, {}
  local function block(i, holder, remainingMs)
    blocker, blockedAt = blocker or holder, blockedAt or i
    if blockedMs >= 0 then
      blockedMs = remainingMs < 0 and -1 or math.max(blockedMs, remainingMs)
    end
  end
  for i = 1, count do
    local key = KEYS[i * 5 - 4]
    local holder = redis.pcall('GET', key)
    standing[i] = holder
    isOurs[i] = mode == '' and holder == value
    if type(holder) == 'table' then
      block(i, '(a ' .. redis.call('TYPE', key).ok .. ')', redis.call('PTTL', key))
    elseif holder and not isOurs[i] and (mode == '' or holder ~= mode) then
      block(i, told(holder), redis.call('PTTL', key))
    end
  end
  local slotCount, slots, isOnFreeSlot = 0, {}, false
  -- @forms
  -- @include holders.lua
  -- The slots that are free. A waiter that wants a lock replaced wakes its holders.
  slotCount = slots_in(mode)
  local isTaken, soonestMs = {}, math.huge
  for i = 1, count do
    for _, one in ipairs(mode ~= '' and standing[i] == mode and living(i) or {}) do
      if one.value == value then
        isOurs[i] = true
      elseif slotCount > 0 then
        isTaken[one.slot] = true
        soonestMs = math.min(soonestMs, one.endsAt - now_ms())
      end
    end
  end
  for number = 1, slotCount do
    if not isTaken[tostring(number)] then
      slots[#slots + 1] = number
      isOnFreeSlot = isOnFreeSlot or tostring(number) == slot
    end
  end
  local isFull = slotCount > 0 and #slots == 0
  if isFull then block(1, mode, soonestMs) end
  for i = 1, has(id, 'replace') and not freeze and count or 0 do
    local function wake_holder(holder)
      wake(channel(i), 'holder:' .. (string.match(holder, '^%S+') or ''))
    end
    local holder = standing[i]
    if type(holder) == 'string' and holder ~= (mode == '' and value or mode) then
      wake_holder(holder)
      for _, one in ipairs(is_mode(holder) and living(i) or {}) do wake_holder(one.value) end
    end
    for _, one in ipairs(isFull and living(i) or {}) do
      if one.slot == '1' then wake_holder(one.value) end
    end
  end
  -- @end
  if freeze and not isOurs[1] then
    blocker, blockedAt = nil, nil
    block(frozenAt, freeze, frozenMs)
  end
  if blocker then return refuse(blocker, blockedMs, '', {}, blockedAt) end

  -- Those before us. A claim that shares passes others that share. One that is woken, or was heard
  -- of in this time, is about to ask.
  local aboutToAskMs, mostLost, lostCount = 500, 200, 0
  for i = 1, count do
    for _, other in ipairs(isOurs[i] and {} or waiters(i)) do
      if other == id then break end
      if mode ~= 'shared' or not has(other, 'shared') then
        local isAnnounced = standing[i] == false or slotCount > 0
        local askedAt = tonumber(redis.call('ZSCORE', seen(i), other) or 0)
        lostCount = lostCount + 1
        isAnnounced = isAnnounced and lostCount <= mostLost
        if not isAnnounced or askedAt > now_ms() - aboutToAskMs or wake(channel(i), other) then
          return refuse('', math.max(0, redis.call('PTTL', KEYS[i * 5 - 4])), '', {}, i)
        end
        forget(i, other)
      end
    end
  end
  -- @forms
  if slotCount > 0 and not isOnFreeSlot then return refuse(mode, 0, '', slots) end
  -- @end

  -- Ours. Holders that outlived the key count for nothing.
  -- Note: a server checks its memory at the first write only. Where there is nothing to remove,
  -- that is the one which would grant, and not a DEL.
  for i = 1, count do
    local outlived = KEYS[i * 5]
    if not standing[i] and redis.call('EXISTS', outlived) == 1 then redis.call('DEL', outlived) end
    if mode == '' then redis.call('SET', KEYS[i * 5 - 4], value, 'PX', ttl) end
    -- @forms
    -- Where there is room for one more, the next waiter behind us is woken; those before us have
    -- been.
    if mode ~= '' then hold(i, ttl) end
    local hasRoom = mode == 'shared' or (slotCount > 0 and #living(i) < slotCount)
    local isBehindUs = false
    for _, other in ipairs(hasRoom and waiters(i) or {}) do
      if other == id then
        isBehindUs = true
      elseif isBehindUs then
        if (mode == 'shared' and not has(other, 'shared')) or wake(channel(i), other) then break end
        forget(i, other)
      end
    end
    -- @end
    if id ~= '' then forget(i, id) end
    -- @history
    if repeated == '1' then pcall(remove_skip, KEYS[i * 5 - 4], host, run) end
    -- @end
    -- @forms
    if has(id, 'supersede') then
      redis.call('ZADD', seen(i), now_ms(), 'served ' .. arrival .. ' ' .. id)
      redis.call('PEXPIRE', seen(i), #waiters(i) > 0 and keepQueueMs or silentMs)
    end
    -- @end
  end
end
-- @history
-- The key comes first: a server that is out of memory refuses the first write only.
for i = 1, start ~= '' and #KEYS / 6 or 0 do
  pcall(add_start, KEYS[i * 5 - 4], token, start)
end
-- @end
if keep == '0' then return {1, 0} end
if isNew then
  local time = redis.call('TIME')
  fence = math.max(fence, time[1] * 1000000 + time[2])
end
fence = fence + 1
for at = 2, helpers, 5 do redis.call('SET', KEYS[at], string.format('%.0f', fence), 'PX', keep) end
return {1, fence}
