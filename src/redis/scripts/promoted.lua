-- Since when this server has been known to be a promoted replica.
--
-- KEYS: 1 the key for the promotion.
-- ARGV: 1 the replication id of the server, 2 whether to write it now where the key is missing
--   or about an earlier promotion ('1') or not ('0').
-- Returns for how many ms the promotion has been known; 0: since now.
-- Atomic: of two clients that see it at once, the later one must not move the time.

-- @include clock.lua
local known = redis.call('GET', KEYS[1])
local id, since = string.match(known or '', '^(%w+) (%d+)$')
local knownMs = id == ARGV[1] and now_ms() - tonumber(since) or -1
if knownMs >= 0 then return knownMs end
-- A year: a key that expires costs one more restart grace.
if ARGV[2] == '1' then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. string.format('%.0f', now_ms()), 'EX', 31536000)
end
return 0
