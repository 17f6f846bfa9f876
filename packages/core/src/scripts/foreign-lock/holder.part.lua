-- holder: who has a lock and how often, as HGETALL says it, also where the string of another library has its name.
-- Of a string it is its first 200 bytes, and -1; of anything else the error.
local function holderAt(key)
  local holder = redis.pcall('hgetall', key)
  if holder.err and redis.call('type', key).ok == 'string' then
    return { redis.call('getrange', key, 0, 199), -1 }
  end
  return holder
end
