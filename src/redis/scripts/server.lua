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

-- The sets of masters in use lately, from the fields of a mark: {ids, ms since the last use, host}.
local function sets_in(known)
  local sets = {}
  for at = 1, #known, 2 do
    local ids = string.match(known[at], '^set:(.+)$')
    local ms, host = string.match(known[at + 1], '^(%d+) (.+)$')
    if ids and ms and #sets < 100 then sets[#sets + 1] = {ids, nowMs - ms, host} end
  end
  return sets
end

-- The mark of the data set of this server: one that comes back without it was emptied, whatever it
-- reports of its disk. `newId`: of a new mark, written where there is none ('': none is written).
-- KEYS: 1 the mark, a hash of `id` and `since`, in ms since 1970 by this server, and the fields of
--   `record_set`.
-- Returns {id, for how many ms it has been there, sets_in}; {'', 0, {}}: there is none, and none
-- was written, as none was requested or the server takes no writes for now; 0: the user or the
-- server allows no look, or no mark.
-- Atomic: of two clients that find an empty server at once, the later one must not write another.
function mark(newId)
  local known, id, since = redis.pcall('HGETALL', KEYS[1]), nil, nil
  if known.err then return 0 end
  for at = 1, #known, 2 do
    if known[at] == 'id' then id = known[at + 1] end
    if known[at] == 'since' then since = known[at + 1] end
  end
  local forMs = id and nowMs - (tonumber(since or '') or math.huge) or -1
  if forMs >= 0 then return {id, forMs, sets_in(known)} end
  if newId == '' then return {'', 0, {}} end
  -- A clock that was ahead, and has been set since, must not keep the server from voting for years.
  id = id or newId
  local written = redis.pcall('HSET', KEYS[1], 'id', id, 'since', text_of(nowMs))
  if type(written) ~= 'table' then return {id, 0, sets_in(known)} end
  for _, code in ipairs({'OOM', 'MISCONF', 'NOREPLICAS'}) do
    if string.find(written.err, code, 1, true) then return {'', 0, {}} end
  end
  return 0
end

-- Records that a host uses a set of masters, beside the mark, so that what removes the mark removes
-- this too. A host that has changed its set removes the one before; another host that still uses
-- that one records it again.
-- KEYS: 1 the mark; of each set a field `set:<ids>`: when it was last used, in ms since 1970 by
--   this server, and by which host. One of more than a day ago is removed.
-- Returns 1: written; 0: there is no mark, or the user or the server does not allow it.
-- Atomic: a set must not be recorded on a server that has lost its mark.
function record_set(host, ids)
  local known = redis.pcall('HGETALL', KEYS[1])
  if known.err or type(redis.pcall('HGET', KEYS[1], 'id')) ~= 'string' then return 0 end
  for _, set in ipairs(sets_in(known)) do
    if set[3] == host or set[2] > 86400000 then redis.pcall('HDEL', KEYS[1], 'set:' .. set[1]) end
  end
  local written = redis.pcall('HSET', KEYS[1], 'set:' .. ids, text_of(nowMs) .. ' ' .. host)
  return type(written) == 'table' and 0 or 1
end
