-- Releases every resource that shows us as a holder, or lets it expire so much later. The counters
-- stay. Leaves the queues, or keeps our positions in them. Adds a line about the run to the
-- histories.
--
-- KEYS: as in acquire.lua, without the freezes; behind them, with a line, the two keys of each
--   history, and the two of all histories (lines.lua).
-- ARGV: 1 value, 2 ms to keep it (0: remove), 3 our id in the queues ('': none), 4 our arrival ('':
--   leave the queues), 5 mode, 6 slot, 7 the line ('': none; 'undo <token>':
--   remove the start of this run), 8 ... starts of the channels'
--   names, one a resource; with a line then `index` and `mostBytes` of lines.lua, and 1 if the run
--   ended well.
-- Returns 1 released (on any resource), 0 another holder's, -1 missing.
-- Atomic: a key could expire and be taken between the comparison and the DEL.
--
-- The first waiter is woken, and others that share with it (front.lua), where
--   - the lock is free now, or free earlier than it was told, or
--   - it has become the first because we left,
-- but never the caller itself. The release of one that shares is no news to others that do, unless
-- the key ends sooner without it: it may have been the only one that would have told of its end.

local value, keep, id, arrival, mode, slot, line = unpack(ARGV, 1, 7)
local count, keepMs = line == '' and #KEYS / 5 or (#KEYS - 2) / 7, tonumber(keep)
-- @history
-- The lines come first: a master that is out of memory refuses them only until something else has
-- been written. Whatever they are refused for, the rest happens.
if line ~= '' then
  local index, mostBytes, isSuccess = unpack(ARGV, 8 + count, 10 + count)
  -- @include clock.lua
  -- @include lines.lua
  local undone = string.match(line, '^undo (%S+)$')
  for i = 1, count do
    local key = KEYS[i * 5 - 4]
    if undone then pcall(remove_start, key, undone) else pcall(add_run, key, line, isSuccess) end
  end
end
-- @end
local code, isFreed = -1, {}
for i = 1, mode == '' and count or 0 do
  local key = KEYS[i * 5 - 4]
  local holder = redis.pcall('GET', key)
  if holder == value then
    code, isFreed[i] = 1, true
    if keepMs > 0 then redis.call('PEXPIRE', key, keep) else redis.call('DEL', key) end
  elseif holder and code < 0 then
    code = 0
  end
end
-- @forms
if mode ~= '' then
  -- @include clock.lua
  -- @include holders.lua
  for i = 1, count do
    local state = shown(i)
    code = math.max(code, state)
    if state == 1 then
      local beforeMs = last(i)
      local member = slot .. ' ' .. value
      redis.call('ZREM', holders(i), member)
      if keepMs > 0 then redis.call('ZADD', holders(i), now_ms() + keepMs, member) end
      local lastMs = last(i)
      if lastMs > 0 then
        redis.call('PEXPIRE', key(i), lastMs)
        redis.call('PEXPIRE', holders(i), lastMs)
      else
        redis.call('DEL', key(i), holders(i))
      end
      isFreed[i] = lastMs <= keepMs or lastMs < beforeMs or mode ~= 'shared'
    end
  end
end
-- @end
local isWaited = id ~= ''
for i = 1, count do
  isWaited = isWaited or (isFreed[i] and redis.call('EXISTS', KEYS[i * 5 - 2]) == 1)
end
if not isWaited then return code end
-- @include clock.lua
-- @include silence.lua
-- @include queue.lua
-- @include front.lua
for i = 1, count do
  local known = nil
  if id ~= '' and arrival == '' then
    known = leaders(i, id)
    forget(i, id)
    if redis.call('EXISTS', queue(i)) == 0 then redis.call('PEXPIRE', seen(i), silentMs) end
  elseif id ~= '' then
    see(i, id, arrival)
  end
  local first = isFreed[i] and waiters(i)[1]
  if first and (mode ~= 'shared' or not has(first, 'shared')) then known = 0 end
  if known then wake_front(i, ARGV[7 + i], id, known) end
end
return code
