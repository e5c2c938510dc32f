// The Lua scripts of the older protocol, in which a key holds the unix time at which its lock ends:
// SETNX, GET, GETSET and DEL of the old page of SETNX ("Design pattern: locking with SETNX"), each
// side's part of it in one step. What stands at the key is what that page says; beside it we note
// whose it is, for ourselves. The note counts only while it names the very time that stands at the
// key, because programs that know nothing of it take the key over.

import { telling } from './scripts.ts';

/**
 * KEYS[1] key, KEYS[2] note: `<time> <value>`; ARGV[1] value, ARGV[2] ttl in ms, ARGV[3] how many ms are one unit of time in the key. By this
 * master's own clock, so that it is one clock for all of us. A second is given to others whose clocks differ, at both ends: our time is
 * a second later than we use it, and a foreign one is over a second after it has come.
 * endOf(mark): in ms; false for what is no time. Whoever writes milliseconds is understood: seconds have twelve digits in 3,000 years.
 * ownerOf(mark): the value of which the note says that this time is his, or false. put(ttl): the key becomes ours.
 */
const setnx = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local differenceMs = 1000
local function endOf(mark)
  if not string.find(mark, '^%d+%.?%d*$') then return false end
  local number = tonumber(mark)
  return number < 100000000000 and number * 1000 or number
end
local function ownerOf(mark, noteKey)
  local note = redis.call('GET', noteKey or KEYS[2]) or ''
  return string.sub(note, 1, #mark + 1) == mark .. ' ' and string.sub(note, #mark + 2)
end
local function put(ttl)
  local unit = tonumber(ARGV[3])
  local mark = string.format('%.0f', math.floor(nowMs / unit) + math.ceil((ttl + differenceMs) / unit) + 1)
  local keep = math.ceil(mark * unit - nowMs + differenceMs)
  redis.call('SET', KEYS[1], mark, 'PX', keep)
  redis.call('SET', KEYS[2], mark .. ' ' .. ARGV[1], 'PX', keep)
end
`;

/**
 * SETNX where the key is absent; where its time is over, GETSET with the check that follows it. Also where it is ours already.
 * Returns {1, 0} granted, or {0, holder's value or time, ms left, -1, seconds, microseconds}, as acquire does; -1 ms left: no end.
 * Atomic: foreign clients compare what GETSET gives them instead; we need not.
 */
export const setnxAcquireScript = `${setnx}${telling}
local function refuse(holder, leftMs)
  return {0, told(holder), math.ceil(leftMs), -1, tonumber(time[1]), tonumber(time[2])}
end
local mark = redis.pcall('GET', KEYS[1])
if type(mark) == 'table' then return refuse('(a ' .. redis.call('TYPE', KEYS[1]).ok .. ')', redis.call('PTTL', KEYS[1])) end
if mark and ownerOf(mark) ~= ARGV[1] then
  local endsAt = endOf(mark)
  if not endsAt then return refuse(mark, redis.call('PTTL', KEYS[1])) end
  if nowMs <= endsAt + differenceMs then return refuse(ownerOf(mark) or mark, endsAt + differenceMs - nowMs) end
end
put(tonumber(ARGV[2]))
return {1, 0}
`;

/**
 * Sets a later time where the one that stands there is ours. Returns as extend does. Somebody who lost a GETSET has moved the time, which is
 * then nobody's: that counts as taken.
 */
export const setnxExtendScript = `${setnx}
local mark = redis.pcall('GET', KEYS[1])
if mark == false then return {-1} end
if type(mark) == 'table' or ownerOf(mark) ~= ARGV[1] then return {0} end
put(tonumber(ARGV[2]))
return {1, tonumber(time[1]), tonumber(time[2])}
`;

/**
 * DEL where the time that stands there is ours, which nobody has taken over then, or with ARGV[2] above 0 the time that others are to keep
 * away for. A foreign holder is removed by the time itself as value. ARGV[4] a line for the history ('': none), ARGV[5] the stream.
 * Returns as release does.
 */
export const setnxReleaseScript = `${setnx}
if ARGV[4] ~= '' then
  local id = redis.pcall('XADD', ARGV[5], 'MAXLEN', '~', 1000, '*', 'run', ARGV[4])
  if type(id) == 'string' then redis.pcall('PEXPIRE', ARGV[5], 2592000000) end
end
local mark = redis.pcall('GET', KEYS[1])
if mark == false then return -1 end
if type(mark) == 'table' or (mark ~= ARGV[1] and ownerOf(mark) ~= ARGV[1]) then return 0 end
if tonumber(ARGV[2]) > 0 then
  put(tonumber(ARGV[2]))
else
  redis.call('DEL', KEYS[1])
  redis.call('DEL', KEYS[2])
end
return 1
`;

/**
 * Notes somebody else as the owner of the time that stands there, which stays. What is no time and never expires is removed: there is
 * nothing to wait for. KEYS as above; ARGV[1] value, ARGV[4] what takes its place. Returns 1 replaced or removed, 0 somebody else's, -1 gone.
 */
export const setnxReplaceScript = `${setnx}
local mark = redis.pcall('GET', KEYS[1])
if mark == false then return -1 end
if type(mark) == 'table' or (mark ~= ARGV[1] and ownerOf(mark) ~= ARGV[1]) then return 0 end
local endsAt = endOf(mark)
local leftMs = redis.call('PTTL', KEYS[1])
if endsAt then leftMs = math.max(1, math.ceil(endsAt + differenceMs - nowMs)) end
if leftMs > 0 then
  redis.call('SET', KEYS[2], mark .. ' ' .. ARGV[4], 'PX', leftMs)
else
  redis.call('DEL', KEYS[1])
end
return 1
`;

/**
 * Reads so many locks in one step. KEYS: two a lock, key and note. Returns for each {type, value, ms left, false, {}, {}}, as the script for
 * looking does; a time that is over is no lock any more, and 'none'.
 */
export const setnxLookScript = `${setnx}
local sights = {}
for at = 1, #KEYS, 2 do
  local mark = redis.pcall('GET', KEYS[at])
  local kind, left = redis.call('TYPE', KEYS[at]).ok, redis.call('PTTL', KEYS[at])
  local value = type(mark) == 'string' and (ownerOf(mark, KEYS[at + 1]) or mark)
  local endsAt = type(mark) == 'string' and endOf(mark)
  if endsAt then left = math.ceil(endsAt + differenceMs - nowMs) end
  if endsAt and left < 0 then kind, value, left = 'none', false, -2 end
  sights[#sights + 1] = {kind, value and string.sub(value, 1, 4097), left, false, {}, {}}
end
return sights
`;
