-- number: the value of a counter, 0 when there is none; nil for something else under its name.
local NOT_A_NUMBER = { err = 'WRONGTYPE The value at this key is not a whole number' }

local function numberAt(counter)
  local value = redis.call('get', counter)
  local digits = string.match(value or '0', '^-?(%d+)$')
  -- Beyond 2^53 Lua no longer counts one by one, and no counter gets there.
  return digits and #digits <= 15 and tonumber(value or 0) or nil
end
