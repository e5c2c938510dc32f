-- Part of other scripts.
-- append(stream, line): adds a line to a history, of which the newest thousand or so stay, for
-- thirty days. Whatever it is refused for, the rest of the script happens.

local function append(stream, line)
  local entry = redis.pcall('XADD', stream, 'MAXLEN', '~', 1000, '*', 'run', line)
  if type(entry) == 'string' then redis.pcall('PEXPIRE', stream, 2592000000) end
  return type(entry) == 'string'
end
