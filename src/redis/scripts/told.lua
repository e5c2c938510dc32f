-- Part of other scripts.
-- told(holder): what a refusal says of a value: its first 1,024 bytes, or that it is empty, which
-- otherwise means that there is none.

local function told(holder)
  return holder == '' and '(an empty value)' or string.sub(holder, 1, 1024)
end
