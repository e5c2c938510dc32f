-- Part of other scripts.
-- read(command, ...): a key of the wrong type reads as absent; no right to read it is an error, and
-- not an empty one.

local function read(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE') then return false end
  return redis.call(...)
end
