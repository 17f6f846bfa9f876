-- number: the value of a counter, 0 when there is none; nil for something else under its name.
local NOT_A_NUMBER = { err = 'WRONGTYPE The value at this key is not a whole number' }

local function numberAt(counter)
  local value = redis.call('get', counter)
  return tonumber(string.match(value or '0', '^-?%d+$'))
end
