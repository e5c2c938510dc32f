-- Part of other scripts.
-- count_in(name): what a counter stands at, or nil where it is absent, or nil and the error to
-- return where it holds what no counting has made: beyond 2^53 neither Lua nor JavaScript counts by
-- ones, and the largest counter of all would be handed on to every master.

local function count_in(name)
  local text = redis.call('GET', name)
  if not text then return nil end
  local count = string.find(text, '^%d+$') and tonumber(text)
  if count and count < 9007199254740991 then return count end
  return nil, {err = 'FENCE ' .. name .. ' holds no number that counting makes (delete this key)'}
end
