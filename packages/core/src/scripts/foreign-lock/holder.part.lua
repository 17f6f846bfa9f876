-- holder: the owner of a lock and its hold count, as HGETALL returns them.
-- Where the key is another library's string, the owner is its first 200 bytes and the count is -1. A key of any other
-- type gives Redis's error.
local function holderAt(key)
  local holder = redis.pcall('hgetall', key)
  if holder.err and redis.call('type', key).ok == 'string' then
    return { redis.call('getrange', key, 0, 199), -1 }
  end
  return holder
end
