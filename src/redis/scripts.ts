// The Lua scripts: everything that has to be decided inside Redis in one step. Each is sent whole (EVAL, never EVALSHA):
// a NOSCRIPT answer would be followed by a second EVAL, and that one could overtake a release sent in between. They are a
// few hundred bytes. The surprise: every one may be run twice, late, or after the answer was lost, without harm.

/**
 * raise(floor, keep): the counter at KEYS[2] becomes at least `floor`, and expires after `keep` ms without use. Numbers are
 * written with %.0f: Lua's own tostring keeps 14 digits, and a counter has 16.
 */
const raise = `
local function raise(floor, keep)
  local count = tonumber(redis.call('GET', KEYS[2]) or '0')
  if count < floor then
    redis.call('SET', KEYS[2], string.format('%.0f', floor), 'PX', keep)
  else
    redis.call('PEXPIRE', KEYS[2], keep)
  end
end
`;

/**
 * Sets our value where the key is absent, or ours from an earlier attempt whose answer was lost, and counts for the fence.
 * A missing counter starts at this master's time in microseconds, which no counter reaches by counting.
 * KEYS[1] key, KEYS[2] counter; ARGV[1] value, ARGV[2] ttl in ms, ARGV[3] ms to keep the counter (0: no fence).
 * Returns {1, fence} granted, or {0, holder's value, PTTL}; a key of another type counts as held, by '(a hash)' or so.
 * Atomic: between a GET and a SET of two calls somebody else could set the key, or count.
 */
export const acquireScript = `
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
  return {0, '(a ' .. redis.call('TYPE', KEYS[1]).ok .. ')', redis.call('PTTL', KEYS[1])}
end
if holder ~= false and holder ~= ARGV[1] then
  return {0, holder, redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local keep = tonumber(ARGV[3])
if keep == 0 then return {1, 0} end
if redis.call('EXISTS', KEYS[2]) == 0 then
  local time = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', time[1] * 1000000 + time[2]))
end
local fence = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], keep)
return {1, fence}
`;

/**
 * Sets the time to live anew where the value is ours, and raises the counter. PEXPIRE and not SET: it works on a master
 * that is out of memory.
 * KEYS[1] key, KEYS[2] counter; ARGV[1] value, ARGV[2] ttl in ms, ARGV[3] ms to keep the counter (0: no fence), ARGV[4]
 * the fence.
 * Returns {1, seconds, microseconds} extended, at this master's time; {0} somebody else's value; {-1} gone. In both of the
 * latter nothing is written.
 * Atomic: the key could expire and be taken between the comparison and the PEXPIRE.
 */
export const extendScript = `${raise}
local holder = redis.pcall('GET', KEYS[1])
if holder == false then return {-1} end
if holder ~= ARGV[1] then return {0} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[3] ~= '0' then raise(tonumber(ARGV[4]), ARGV[3]) end
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
if ARGV[3] ~= '0' then raise(tonumber(ARGV[4]), ARGV[3]) end
return 1
`;

/**
 * Removes the key where the value is ours, or lets it expire so much later. The counter stays.
 * KEYS[1] key; ARGV[1] value, ARGV[2] ms to keep it (0: remove).
 * Returns 1 released, 0 somebody else's value, -1 gone.
 * Atomic: the key could expire and be taken between the comparison and the DEL.
 */
export const releaseScript = `
local holder = redis.pcall('GET', KEYS[1])
if holder == false then return -1 end
if holder ~= ARGV[1] then return 0 end
if tonumber(ARGV[2]) > 0 then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('DEL', KEYS[1])
`;
