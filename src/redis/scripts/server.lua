-- What the clients of a server keep on it for all locks under a prefix.

-- Since when this server, of this replication `id`, has been known to be a promoted replica.
-- `isWriting`: whether to write it now ('1') where it is missing or about an earlier promotion.
-- KEYS: 1 the key for the promotion.
-- Returns for how many ms the promotion has been known; 0: since now.
-- Atomic: of two clients that see it at once, the later one must not move the time.
function promoted(id, isWriting)
  local known = redis.call('GET', KEYS[1])
  local knownId, since = string.match(known or '', '^(%w+) (%d+)$')
  local knownMs = knownId == id and nowMs - tonumber(since) or -1
  if knownMs >= 0 then return knownMs end
  -- A year: a key that expires costs one more restart grace.
  if isWriting == '1' then
    redis.call('SET', KEYS[1], id .. ' ' .. text_of(nowMs), 'EX', 31536000)
  end
  return 0
end

-- The mark of the data set of this server: one that comes back without it was emptied, whatever it
-- says about its disk. `newId`: of a new mark, written where there is none ('': none is written).
-- KEYS: 1 the mark, a hash of `id` and `since`, in ms since 1970 by this server.
-- Returns {id, for how many ms it has been there}; {'', 0}: there is none, and none was written, as
-- none was requested or the server takes no writes for now; 0: the user or the server allows no
-- look, or no mark.
-- Atomic: of two clients that meet an empty server at once, the later one must not write another.
function mark(newId)
  local id, since = redis.pcall('HGET', KEYS[1], 'id'), redis.pcall('HGET', KEYS[1], 'since')
  if type(id) == 'table' or type(since) == 'table' then return 0 end
  local forMs = id and nowMs - (tonumber(since or '') or math.huge) or -1
  if forMs >= 0 then return {id, forMs} end
  if newId == '' then return {'', 0} end
  -- A clock that was ahead, and has been set since, must not keep the server from voting for years.
  id = id or newId
  local written = redis.pcall('HSET', KEYS[1], 'id', id, 'since', text_of(nowMs))
  if type(written) ~= 'table' then return {id, 0} end
  for _, code in ipairs({'OOM', 'MISCONF', 'NOREPLICAS'}) do
    if string.find(written.err, code, 1, true) then return {'', 0} end
  end
  return 0
end

-- Which lists of masters have been used lately, and by which hosts: fields beside the mark, so that
-- what removes the mark removes them too. `host`: ours ('': those of all hosts are read); `list`:
-- what to write for it ('': nothing).
-- KEYS: 1 the mark; of each host a field `list:<host>`: when it was written, in ms since 1970 by
--   this server, and the list.
-- Returns {host, for how many ms it has been there, list} of the youngest field of each list, and
-- that of our host, or of all; 1: written; 0: there is no mark, or the user or the server does not
-- allow it.
-- Atomic: what is removed to make room must be the oldest.
function lists(host, list)
  local maxHosts, maxMs = 100, 7 * 24 * 60 * 60 * 1000
  local known = redis.pcall('HGETALL', KEYS[1])
  if known.err then return 0 end
  local hasMark, entries = false, {}
  for at = 1, #known, 2 do
    local name, ms, text = known[at], string.match(known[at + 1], '^(%d+) (.*)$')
    if name == 'id' then hasMark = true end
    if string.sub(name, 1, 5) == 'list:' and ms then
      entries[#entries + 1] = {string.sub(name, 6), nowMs - ms, text}
    end
  end
  if not hasMark then return 0 end
  table.sort(entries, function(a, b) return a[2] < b[2] end)
  if list == '' then
    local isListed, found = {}, {}
    for at, entry in ipairs(entries) do
      if at <= maxHosts and (host == '' or entry[1] == host or not isListed[entry[3]]) then
        isListed[entry[3]], found[#found + 1] = true, entry
      end
    end
    return found
  end
  local hostCount = 1
  for _, entry in ipairs(entries) do
    if entry[1] ~= host then hostCount = hostCount + 1 end
    if entry[1] ~= host and (hostCount > maxHosts or entry[2] > maxMs) then
      redis.pcall('HDEL', KEYS[1], 'list:' .. entry[1])
    end
  end
  local written = text_of(nowMs) .. ' ' .. list
  return type(redis.pcall('HSET', KEYS[1], 'list:' .. host, written)) == 'table' and 0 or 1
end
