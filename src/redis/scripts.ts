// The Lua scripts: everything that has to be decided inside Redis in one step. They are sent whole,
// each time. Every one may be run twice, late, or after the answer was lost, without harm.

/**
 * corrupt(name): the error to return where this counter holds what no counting has made: beyond
 * 2^53 neither Lua nor JavaScript counts by ones, and the largest counter of all would be handed on
 * to every master; else nil.
 */
export const counting = `
local function corrupt(name)
  local count = redis.call('GET', name)
  if not count or (string.find(count, '^%d+$') and tonumber(count) < 9007199254740991) then return nil end
  return {err = 'FENCE ' .. name .. ' holds no number that counting makes (delete this key)'}
end
`;

/**
 * raise(floor, keep): the counter at KEYS[2] becomes at least `floor`, and expires after `keep` ms
 * without use; returns the error where it is corrupt. Numbers are written with %.0f: Lua's own
 * tostring keeps 14 digits, and a counter has 16.
 */
const raise = `${counting}
local function raise(floor, keep)
  local err = corrupt(KEYS[2])
  if err then return err end
  local count = tonumber(redis.call('GET', KEYS[2]) or '0')
  if count < floor then
    redis.call('SET', KEYS[2], string.format('%.0f', floor), 'PX', keep)
  else
    redis.call('PEXPIRE', KEYS[2], keep)
  end
end
`;

/**
 * told(holder): what a refusal says of a value: its beginning, or that it is empty, which otherwise
 * means that there is none.
 */
export const telling = `
local function told(holder) return holder == '' and '(an empty value)' or string.sub(holder, 1, 1024) end
`;

/**
 * The queue: a sorted set of waiters by arrival, and one by their last sign of life. A waiter that
 * has given none for three seconds is dropped, and so is at once one that does not hear its call:
 * if it lives, it comes back to its place with its next question. Both sets expire by themselves
 * when nothing waits any more. first(): the id of the first waiter, or false. hears(): wakes it
 * over its own channel; false when nothing listens there.
 */
const queue = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local function forget(id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[4], id)
end
local function first()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', nowMs - 3000)) do forget(id) end
  return redis.call('ZRANGE', KEYS[3], 0, 0)[1] or false
end
local function see(id, arrival)
  redis.call('ZADD', KEYS[3], arrival, id)
  redis.call('ZADD', KEYS[4], nowMs, id)
  redis.call('PEXPIRE', KEYS[3], 10000)
  redis.call('PEXPIRE', KEYS[4], 10000)
end
local function hears(channel, id) return redis.call('PUBLISH', channel .. id, '') > 0 end
`;

/**
 * Sets our value where the key is absent, or ours from an earlier attempt whose answer was lost, and counts for the fence.
 * A missing counter starts at this master's time in microseconds, which no counter reaches by
 * counting; where one is corrupt nothing is done. Where others are in the queue, a free key is
 * granted to the first of them only; a waiter that is refused is entered. A free key whose first
 * waiter was not called, or did not hear, is announced to it anew, unless it has just asked for it.
 * Where nothing waits and the key is absent, which is nearly always, none of that is even defined:
 * functions cost time, too.
 * KEYS[1] key, KEYS[2] counter, KEYS[3] queue, KEYS[4] signs of life; ARGV[1] value, ARGV[2] ttl in ms, ARGV[3] ms to keep the
 * counter (0: no fence), ARGV[4] our id in the queue ('': we do not wait), ARGV[5] our arrival in microseconds, ARGV[6] start
 * of the channels' names.
 * Returns {1, fence} granted, or {0, beginning of the holder's value ('': others are first), PTTL,
 * place (-1: none), seconds, microseconds}; a key of another type counts as held, by '(a hash)' or
 * so.
 * Atomic: between a GET and a SET of two calls another client could set the key, or count, or come
 * first.
 */
export const acquireScript = `${counting}
local id = ARGV[4]
local err = ARGV[3] ~= '0' and corrupt(KEYS[2])
if err then return err end
local isQuiet = id == '' and redis.call('EXISTS', KEYS[3]) == 0
local set = isQuiet and redis.pcall('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if not set or not set.ok then
  ${queue}${telling}
  local function refuse(holder)
    local place = -1
    if id ~= '' then
      see(id, ARGV[5])
      place = redis.call('ZRANK', KEYS[3], id)
    end
    return {0, holder, redis.call('PTTL', KEYS[1]), place, tonumber(time[1]), tonumber(time[2])}
  end
  local head = first()
  local holder = redis.pcall('GET', KEYS[1])
  if type(holder) == 'table' then return refuse('(a ' .. redis.call('TYPE', KEYS[1]).ok .. ')') end
  if holder ~= false and holder ~= ARGV[1] then return refuse(told(holder)) end
  if holder == false and id ~= '' then
    see(id, ARGV[5])
    head = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
  end
  while holder == false and head and head ~= id do
    local askedAt = tonumber(redis.call('ZSCORE', KEYS[4], head) or 0)
    if askedAt > nowMs - 500 or hears(ARGV[6], head) then return refuse('') end
    forget(head)
    head = first()
  end
  if id ~= '' then forget(id) end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
if ARGV[3] == '0' then return {1, 0} end
local fence = redis.call('INCR', KEYS[2])
if fence == 1 then
  local time = redis.call('TIME')
  fence = time[1] * 1000000 + time[2] + 1
  redis.call('SET', KEYS[2], string.format('%.0f', fence))
end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return {1, fence}
`;

/**
 * Sets the time to live anew where the value is ours, and raises the counter. PEXPIRE and not SET: it works on a master
 * that is out of memory.
 * KEYS[1] key, KEYS[2] counter; ARGV[1] value, ARGV[2] ttl in ms, ARGV[3] ms to keep the counter (0: no fence), ARGV[4]
 * the fence.
 * Returns {1, seconds, microseconds} extended, at this master's time; {0} another value; {-1} gone.
 * In both of the latter nothing is written. Where the counter is corrupt: an error, and the key is
 * extended all the same, so that it goes on to keep others out.
 * Atomic: the key could expire and be taken between the comparison and the PEXPIRE.
 */
export const extendScript = `${raise}
local holder = redis.pcall('GET', KEYS[1])
if holder == false then return {-1} end
if holder ~= ARGV[1] then return {0} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local err = ARGV[3] ~= '0' and raise(tonumber(ARGV[4]), ARGV[3])
if err then return err end
local time = redis.call('TIME')
return {1, tonumber(time[1]), tonumber(time[2])}
`;

/**
 * Sets our value where the key is absent, for a holder whose lease a quorum has just proven, and raises the counter.
 * KEYS and ARGV as in extend. Returns 1 ours (again), 0 somebody else's value.
 * Atomic: somebody else could set the key, and count, in between.
 */
export const healScript = `${raise}
local holder = redis.pcall('GET', KEYS[1])
if holder ~= false and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[3] ~= '0' and raise(tonumber(ARGV[4]), ARGV[3]) or 1
`;

/**
 * Removes the key where the value is ours, or lets it expire so much later. The counter stays. A line about the run, whoever
 * holds the key by now, goes into its history: the newest thousand or so, for thirty days. It comes first, because a master that
 * is out of memory refuses it only until something else has been written; and whatever it is refused for, the rest happens; a key of another type is
 * somebody else's, and keeps its time to live. Gives up our place in the queue, or keeps it. Calls the first in line, unless he is the caller himself, where the key is free now, or free earlier than he
 * was told, or it is news that he is the first. Where he shares and could have it now, those right behind him who share are called with him: he may have to
 * wait for another resource, and they may pass him. So they may when we leave who stood between them.
 * KEYS as in acquire; ARGV[1] value, ARGV[2] ms to keep it (0: remove), ARGV[3] our id in the queue ('': none),
 * ARGV[4] our arrival in microseconds ('': give up the place), ARGV[5] start of the channels' names, ARGV[6] the line ('': none),
 * ARGV[7] the stream it goes to.
 * Returns 1 released, 0 somebody else's value, -1 gone.
 * Atomic: the key could expire and be taken between the comparison and the DEL.
 */
export const releaseScript = `
if ARGV[6] and ARGV[6] ~= '' then
  local entry = redis.pcall('XADD', ARGV[7], 'MAXLEN', '~', 1000, '*', 'run', ARGV[6])
  if type(entry) == 'string' then redis.pcall('PEXPIRE', ARGV[7], 2592000000) end
end
local holder = redis.pcall('GET', KEYS[1])
local code = 0
if holder == false then
  code = -1
elseif holder == ARGV[1] then
  code = 1
  if tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else redis.call('DEL', KEYS[1]) end
end
local id = ARGV[3]
if id == '' and (code ~= 1 or redis.call('EXISTS', KEYS[3]) == 0) then return code end
${queue}
local function shares(other) return string.find(other, '^shared[,:]') end
local known = code == 1 and 0
if id ~= '' and ARGV[4] == '' then
  local head = first()
  if head == id then known = 0 end
  for place, other in ipairs(not known and head and shares(head) and redis.call('ZRANGE', KEYS[3], 1, -1) or {}) do
    if other == id then known = place end
    if not shares(other) then break end
  end
  forget(id)
elseif id ~= '' then
  see(id, ARGV[4])
end
if known then
  local head = first()
  while known == 0 and head and head ~= id and not hears(ARGV[5], head) do
    forget(head)
    head = first()
  end
  if head and head ~= id and shares(head) then
    local left = redis.pcall('GET', KEYS[1])
    for place, other in ipairs((left == false or left == 'shared') and redis.call('ZRANGE', KEYS[3], 1, -1) or {}) do
      if other == id or not shares(other) then break end
      if place >= known and not hears(ARGV[5], other) then forget(other) end
    end
  end
end
return code
`;
