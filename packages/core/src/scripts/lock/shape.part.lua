-- shape: whether a hash is a lock: owners with counts, more than one only beside the mode of a read-write lock.
-- A foreign hash may be large: this reads no more of it than needed.
local MOST_FIELDS = 1000
local LONGEST_OWNER = 1000
local NO_LOCK = 'WRONGTYPE The key is a hash of something else'

local function looksLikeOwner(field)
  return string.find(field, '^[^:]+:%d+$') or string.find(field, '^[^:]+:%d+:write$')
end

-- The fields, and whether they are those of a read-write lock; nil for a hash that is no lock. `isAsked`: a lock of this
-- name was asked for, which may have any number of readers, or nobody any more beside its mode. A thousand times a second
-- for keys that are only found: most hashes have one field, and need two commands.
local function fieldsOfLock(key, size, isAsked)
  local isMarked = size > 1 and (isAsked or size <= MOST_FIELDS)
  local isReadWrite = isMarked and string.find(redis.call('hget', key, 'mode') or '', '^[rw]')
  if size > 1 and not isReadWrite then
    -- HLEN of Valkey counts fields whose own time has ended.
    return isAsked and size <= MOST_FIELDS and #redis.call('hkeys', key) == 0 and {} or nil
  end
  for _, field in ipairs(redis.call('hkeys', key)) do
    local isOwner = looksLikeOwner(field) and (isAsked or #field <= LONGEST_OWNER)
    if not isOwner and not ((isReadWrite or isAsked) and field == 'mode') then return nil end
  end
  local fields = redis.call('hgetall', key)
  for i = 2, #fields, 2 do
    local isMode = fields[i - 1] == 'mode'
    if isMode and fields[i] ~= 'read' and fields[i] ~= 'write' or not isMode and not string.find(fields[i], '^[1-9]%d*$') then
      return nil
    end
  end
  -- A field can end by itself, from Redis 7.4 on, and its key a little later.
  return (isAsked or fields[1]) and fields, isReadWrite
end
