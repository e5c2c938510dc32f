-- Part of other scripts.
-- For how many ms a waiter may give no sign of life until it counts as dead. A waiter gives one
-- three times as often: wait.ts.

local silentMs = 3000
