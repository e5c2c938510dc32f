-- What holders and waiters do. Where a verb fails with an error, a counter is corrupt.
-- In all verbs: `value`: of the holder; `ttl` in ms; `mode`: '' exclusive, 'shared' or
-- 'slots <number>'; `slot`: 0 none; `keep`: ms to keep the counters, 0: no fence; `id`: ours in the
-- queues, '' where we do not wait; `arrival`: ours, in microseconds; and `index` and `maxBytes` of
-- history.lua.

-- Counts, for one fence of all resources. A missing counter starts at this master's time in
-- microseconds, which no counter reaches by counting.
local function granted(fence, isNew)
  -- @history
  -- The key comes first: a server that is out of memory refuses the first write only.
  for i = 1, start ~= '' and count or 0 do pcall(add_start, KEYS[i], token, start) end
  -- @end
  if keep == '0' then return {1, 0} end
  if isNew then
    local time = redis.call('TIME')
    fence = math.max(fence, time[1] * 1000000 + time[2])
  end
  fence = fence + 1
  for i = 1, count do
    redis.call('SET', KEYS[count + i], string.format('%.0f', fence), 'PX', keep)
  end
  return {1, fence}
end

-- Acquires one or several resources for one holder: all, or none where one is not free for us.
-- For the history: `token` and `start` of a run that has begun ('': none); of a claim that does not
-- wait `line` ('': none), `host`, `run`, and whether it was refused before (`repeated` is 1).
-- Returns {1, fence} granted (0: no fence); or {0, names and values} refused, as `Refused` of
-- types.ts has them. A key of another type counts as held. Where a counter is corrupt, nothing is
-- done.
-- Atomic: between two requests another client could set a key, or count, or come first.
--
-- Our own value counts as free: it stems from an attempt whose answer was lost. Where others wait,
-- a free key is granted to the first of them only, and a waiter that is refused is entered. A free
-- key whose first waiter was not woken, or has no subscriber, is announced to it again, unless it
-- has just asked for it. A freeze bars every new holder, and none that is there. A waiter that
-- wants the holder replaced is not entered then: it would have a holder stopped for nothing.
function acquire(value, ttl, keep, id, arrival, mode, slot, count, index, maxBytes, token, start,
    line, host, run, repeated)
  count = tonumber(count)
  local fence, isNew = 0, false
  for i = 1, keep == '0' and 0 or count do
    local number, err = count_in(KEYS[count + i])
    if err then return err end
    fence = math.max(fence, number or 0)
    isNew = isNew or not number
  end
  -- One resource that nothing holds and nothing waits for, which is nearly always: none of what
  -- follows is even defined then. The keys are its queue, holders and freeze.
  local isQuiet = id == '' and mode == '' and count == 1
  -- @history
  isQuiet = isQuiet and repeated ~= '1'
  -- @end
  isQuiet = isQuiet and redis.call('EXISTS', KEYS[3], KEYS[5], KEYS[6]) == 0
  local set = isQuiet and redis.pcall('SET', KEYS[1], value, 'NX', 'PX', ttl)
  if set and set.ok then return granted(fence, isNew) end

  local function refuse(holder, remainingMs, details)
    -- @history
    for i = 1, line ~= '' and count or 0 do
      pcall(add_skip, KEYS[i], line, host, run, holder)
    end
    -- @end
    local place = -1
    for i = 1, id ~= '' and count or 0 do place = math.max(place, position(i) or -1) end
    local reply = {0, 'holder', holder, 'remainingMs', remainingMs >= 0 and remainingMs,
      'position', place >= 0 and place, 'masterTimeUs', nowUs}
    for _, detail in ipairs(details or {}) do reply[#reply + 1] = detail end
    return reply
  end
  local function blocked_by(i) return count > 1 and {'blockedIndex', i - 1} or nil end
  local freeze, frozenMs, frozenAt = nil, 0, nil
  for i = 1, count do
    drop_silent(i)
    local found = redis.pcall('GET', freeze_key(i))
    if found then
      freeze, frozenAt = summary(freeze_key(i), found), i
      frozenMs = redis.call('PTTL', freeze_key(i))
    end
  end

  -- @forms
  -- A waiter that supersedes others removes the older ones from the queues, and wakes them, so that
  -- they end; where there is a newer one, it learns of it. One that was just granted the lock
  -- counts as there for silentMs, so that those that it removed learn of it.
  if has(id, 'supersede') then
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
            wake(i, other)
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
      if known[i] then wake_front(i, id, known[i]) end
    end
    if newer ~= '' then return refuse('', 0, {'supersededBy', newer}) end
  end
  -- @end
  for i = 1, id ~= '' and count or 0 do
    if freeze and has(id, 'replace') then forget(i, id) else see(i) end
  end

  -- What others hold.
  local blocker, blockedAt, blockedMs, current, isOurs = nil, nil, 0, {}, {}
  local function block(i, holder, remainingMs)
    blocker, blockedAt = blocker or holder, blockedAt or i
    if blockedMs >= 0 then
      blockedMs = remainingMs < 0 and -1 or math.max(blockedMs, remainingMs)
    end
  end
  for i = 1, count do
    local holder = redis.pcall('GET', KEYS[i])
    current[i] = holder
    isOurs[i] = mode == '' and holder == value
    if holder and not isOurs[i] and (mode == '' or holder ~= mode) then
      block(i, summary(KEYS[i], holder), redis.call('PTTL', KEYS[i]))
    end
  end
  local slotCount, slots, isOnFreeSlot = 0, {}, false
  -- @forms
  -- The slots that are free. A waiter that wants a lock replaced wakes its holders.
  slotCount = slots_in(mode)
  local isTaken, soonestMs = {}, math.huge
  for i = 1, count do
    for _, one in ipairs(mode ~= '' and current[i] == mode and living(i) or {}) do
      if one.value == value then
        isOurs[i] = true
      elseif slotCount > 0 then
        isTaken[one.slot] = true
        soonestMs = math.min(soonestMs, one.endsAt - nowMs)
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
      wake(i, 'holder:' .. (string.match(holder, '^%S+') or ''))
    end
    local holder = current[i]
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
  if blocker then return refuse(blocker, blockedMs, blocked_by(blockedAt)) end

  -- Those ahead of us. A claim that shares passes others that share. One that is woken, or gave a
  -- sign of life in this time, is about to ask.
  local aboutToAskMs, maxLost, lostCount = 500, 200, 0
  for i = 1, count do
    for _, other in ipairs(isOurs[i] and {} or waiters(i)) do
      if other == id then break end
      if mode ~= 'shared' or not has(other, 'shared') then
        local isAnnounced = current[i] == false or slotCount > 0
        local askedAt = tonumber(redis.call('ZSCORE', seen(i), other) or 0)
        lostCount = lostCount + 1
        isAnnounced = isAnnounced and lostCount <= maxLost
        if not isAnnounced or askedAt > nowMs - aboutToAskMs or wake(i, other) then
          return refuse('', math.max(0, redis.call('PTTL', KEYS[i])), blocked_by(i))
        end
        forget(i, other)
      end
    end
  end
  -- @forms
  if slotCount > 0 and not isOnFreeSlot then
    return refuse(mode, 0, #slots > 0 and {'freeSlots', slots})
  end
  -- @end

  -- Ours. Holders that outlived the key count for nothing.
  -- Note: a server checks its memory at the first write only. Where there is nothing to remove,
  -- that is the one which would grant, and not a DEL.
  for i = 1, count do
    if not current[i] and redis.call('EXISTS', holders(i)) == 1 then
      redis.call('DEL', holders(i))
    end
    hold(i)
    -- @forms
    -- Where there is room for one more, the next waiter behind us is woken; those ahead have been.
    local hasRoom = mode == 'shared' or (slotCount > 0 and #living(i) < slotCount)
    local isBehindUs = false
    for _, other in ipairs(hasRoom and waiters(i) or {}) do
      if other == id then
        isBehindUs = true
      elseif isBehindUs then
        if (mode == 'shared' and not has(other, 'shared')) or wake(i, other) then break end
        forget(i, other)
      end
    end
    -- @end
    if id ~= '' then forget(i, id) end
    -- @history
    if repeated == '1' then pcall(remove_skip, KEYS[i], host, run) end
    -- @end
    -- @forms
    if has(id, 'supersede') then
      redis.call('ZADD', seen(i), nowMs, 'served ' .. arrival .. ' ' .. id)
      redis.call('PEXPIRE', seen(i), #waiters(i) > 0 and keepQueueMs or silentMs)
    end
    -- @end
  end
  return granted(fence, isNew)
end

-- Extends a lock where every resource shows us as a holder, and raises the counters to `fence`.
-- `arrival`: ours, where a newer waiter may replace us, 0 where we never waited ('': none may).
-- Returns {1, 'masterTimeUs', time, and 'replacedBy', the id of the waiter that is to replace us}
-- extended; {0} another holder; {-1} missing. In both of the latter no holder changes. Where a
-- counter is corrupt, the keys are still extended, so that they keep others out.
-- Atomic: a key could expire and be taken between the comparison and the PEXPIRE.
--
-- PEXPIRE and not SET: it works on a master that is out of memory. Where all slots are taken, only
-- the holder of the first is replaced: one is enough.
function extend(value, ttl, keep, fence, mode, slot, count, arrival)
  count = tonumber(count)
  local isMissing = false
  for i = 1, count do
    local state = shown(i)
    if state == 0 then return {0} end
    isMissing = isMissing or state < 0
  end
  if isMissing then return {-1} end
  for i = 1, count do
    -- @forms
    if mode ~= '' then hold(i) end
    -- @end
    if mode == '' then redis.call('PEXPIRE', KEYS[i], ttl) end
  end
  local corrupt = raise()
  if corrupt then return corrupt end
  local reply = {1, 'masterTimeUs', nowUs}
  -- @forms
  local slotCount = slots_in(mode)
  for i = 1, arrival ~= '' and count or 0 do
    local isAsked = slotCount == 0 or (slot == '1' and #living(i) >= slotCount)
    for _, other in ipairs(isAsked and waiters(i) or {}) do
      local isInTheWay = mode ~= 'shared' or not has(other, 'shared')
      local isNewer = tonumber(redis.call('ZSCORE', queue(i), other)) > tonumber(arrival)
      if isInTheWay and isNewer and has(other, 'replace') then
        reply[4], reply[5] = 'replacedBy', other
      end
    end
  end
  -- @end
  return reply
end

-- Shows us again on every resource that does not, for a holder whose lease a quorum has just
-- confirmed, unless another holder is on one; and raises the counters.
-- Returns 1 ours (again), 0 another holder's, or no slot that there is.
-- Atomic: another client could take a resource, and count, in between.
function repair(value, ttl, keep, fence, mode, slot, count)
  count = tonumber(count)
  -- @forms
  local slotCount = slots_in(mode)
  if slotCount > 0 and (tonumber(slot) < 1 or tonumber(slot) > slotCount) then return 0 end
  -- @end
  for i = 1, count do
    if shown(i) == 0 then return 0 end
  end
  for i = 1, count do
    -- @forms
    if mode ~= '' and redis.call('EXISTS', KEYS[i]) == 0 then redis.call('DEL', holders(i)) end
    -- @end
    hold(i)
  end
  return raise() or 1
end

-- Releases every resource that shows us as a holder, or lets it expire `keepMs` later (0: removes
-- it). The counters stay. Leaves the queues, or keeps our positions in them where `arrival` is not
-- ''. For the history: `line` of the run that has ended and whether it ended well (`isSuccess` is
-- 1), or the token of a start that is `undone` ('': none).
-- Returns 1 released (on any resource), 0 another holder's, -1 missing.
-- Atomic: a key could expire and be taken between the comparison and the DEL.
--
-- The first waiter is woken, and others that share with it, where
--   - the lock is free now, or earlier than the last refusal announced, or
--   - it has become the first because we left,
-- but never the caller itself. The release of one that shares is no news to others that do, unless
-- the key ends sooner without it: it may have been the only one to publish its end.
function release(value, keepMs, id, arrival, mode, slot, count, index, maxBytes, line, isSuccess,
    undone)
  count, keepMs = tonumber(count), tonumber(keepMs)
  -- @history
  -- The lines come first: a master that is out of memory refuses them only until something else has
  -- been written. Whatever they are refused for, the rest happens.
  for i = 1, count do
    if undone ~= '' then pcall(remove_start, KEYS[i], undone) end
    if line ~= '' then pcall(add_run, KEYS[i], line, isSuccess) end
  end
  -- @end
  local code, isFreed, isWaited = -1, {}, id ~= ''
  for i = 1, count do
    local state = shown(i)
    if state > code then code = state end
    if state == 1 then
      isFreed[i] = true
      -- @forms
      if mode ~= '' then
        local beforeMs, member = last_end(i), slot .. ' ' .. value
        redis.call('ZREM', holders(i), member)
        if keepMs > 0 then redis.call('ZADD', holders(i), nowMs + keepMs, member) end
        local lastMs = last_end(i)
        if lastMs > 0 then
          redis.call('PEXPIRE', KEYS[i], lastMs)
          redis.call('PEXPIRE', holders(i), lastMs)
        else
          redis.call('DEL', KEYS[i], holders(i))
        end
        isFreed[i] = lastMs <= keepMs or lastMs < beforeMs or mode ~= 'shared'
      end
      -- @end
      if mode == '' and keepMs > 0 then redis.call('PEXPIRE', KEYS[i], keepMs) end
      if mode == '' and keepMs == 0 then redis.call('DEL', KEYS[i]) end
    end
    isWaited = isWaited or (isFreed[i] and redis.call('EXISTS', KEYS[count * 2 + i]) == 1)
  end
  if not isWaited then return code end
  for i = 1, count do
    local known = nil
    if id ~= '' and arrival == '' then
      known = leaders(i, id)
      forget(i, id)
      if redis.call('EXISTS', queue(i)) == 0 then redis.call('PEXPIRE', seen(i), silentMs) end
    elseif id ~= '' then
      see(i)
    end
    local first = isFreed[i] and waiters(i)[1]
    if first and (mode ~= 'shared' or not has(first, 'shared')) then known = 0 end
    if known then wake_front(i, id, known) end
  end
  return code
end
