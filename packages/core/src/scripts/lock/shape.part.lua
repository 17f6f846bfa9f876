-- shape: whether a hash looks like a lock: owners with numbers, more than one only beside the mode of a read-write lock.
-- What others keep may be large: no more is read of it than it takes to see that.
local MOST_OWNERS = 1000

local function isOwner(field, holds)
  return string.find(field, '^[^:]+:%d+$') and string.find(holds, '^[1-9]%d*$')
    or string.find(field, '^[^:]+:%d+:write$') and string.find(holds, '^[1-9]%d*$')
end

local function looksLikeLock(key)
  local size = redis.call('hlen', key)
  local mode = redis.call('hget', key, 'mode')
  local isReadWrite = mode == 'read' or mode == 'write'
  if size > MOST_OWNERS or size ~= 1 and not isReadWrite then
    return false
  end
  for _, field in ipairs(redis.call('hkeys', key)) do
    if field ~= 'mode' or not isReadWrite then
      local holds = #field < 300 and redis.call('hget', key, field) or ''
      if not isOwner(field, holds) then
        return false
      end
    end
  end
  return size > (isReadWrite and 1 or 0)
end
