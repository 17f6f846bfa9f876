-- shape: whether a hash looks like a lock: owners with counts, more than one only beside the mode of a read-write lock.
-- A foreign hash may be large: this reads no more of it than needed.
local MOST_FIELDS = 1000
local LONGEST_OWNER = 1000

local function looksLikeOwner(field)
  return #field <= LONGEST_OWNER
    and (string.find(field, '^[^:]+:%d+$') or string.find(field, '^[^:]+:%d+:write$'))
end

local function looksLikeLock(key)
  local size = redis.call('hlen', key)
  local mode = redis.call('hget', key, 'mode')
  local isReadWrite = mode == 'read' or mode == 'write'
  if size > MOST_FIELDS or size ~= 1 and not isReadWrite then
    return false
  end
  local fields = redis.call('hkeys', key)
  for _, field in ipairs(fields) do
    local isMode = isReadWrite and field == 'mode'
    if not isMode and not (looksLikeOwner(field) and string.find(redis.call('hget', key, field), '^[1-9]%d*$')) then
      return false
    end
  end
  -- HLEN of Valkey counts fields whose own time has ended.
  return #fields > (isReadWrite and 1 or 0)
end
