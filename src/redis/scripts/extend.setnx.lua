-- Extends a lock of the older protocol: a later time where the one that stands there is ours.
-- Another program that lost a GETSET has moved the time, which is then no holder's: that counts as
-- taken.
--
-- KEYS and ARGV: as in acquire.setnx.lua.
-- Returns {1, seconds, microseconds, ''} extended, {0} another holder, {-1} missing, as extend.lua.
-- Atomic: another program could take the key over between the comparison and the SET.

local value, ttl, unitMs = unpack(ARGV, 1, 3)
-- @include clock.lua
-- @include time.setnx.lua
-- @include put.setnx.lua
local time = redis.pcall('GET', KEYS[1])
if time == false then return {-1} end
if type(time) == 'table' or owner_of(time, KEYS[2]) ~= value then return {0} end
put(tonumber(ttl))
return {1, tonumber(now()[1]), tonumber(now()[2]), ''}
