-- Part of other scripts, after queue.lua. Changes at the front of a wait queue.
-- leaders(i, id): how many waiters are before this one, where those behind it may come to the front
-- when it leaves: none, or only some that share, which others that share may pass; else nil.
-- wake_front(i, channel, id, known): wakes the first waiter and, where it shares and could have the
-- lock now, those right behind it that share: it may have to wait for another resource. It leaves
-- out the first `known`, which are known to be there, and none beyond `id` is woken.

local function leaders(i, id)
  for place, other in ipairs(waiters(i)) do
    if other == id and (place == 1 or not has(id, 'shared')) then return place - 1 end
    if other == id or not has(other, 'shared') then return nil end
  end
end
local function wake_front(i, channel, id, known)
  local holder = redis.pcall('GET', KEYS[i * 5 - 4])
  local isOpen, sharerCount = holder == false or holder == 'shared', 0
  for place, other in ipairs(waiters(i)) do
    local shares = has(other, 'shared')
    if other == id or (sharerCount > 0 and not (shares and isOpen)) then return end
    if place <= known or wake(channel, other) then
      if not shares then return end
      sharerCount = sharerCount + 1
    else
      forget(i, other)
    end
  end
end
