-- permits: of a permit-expirable semaphore. Their time is that of Redis; expired permits are free.
local FOREVER = 922337203685477

-- insert clock
-- insert publish

-- An id is 16 bytes in Redis, and twice as many characters outside.
local function raw(id)
  return (string.gsub(id, '%x%x', function(byte)
    return string.char(tonumber(byte, 16))
  end))
end

local function release(permits, count)
  if count > 0 then
    publish(permits.publish, permits.channel, redis.call('incrby', permits.counter, count))
  end
end

local function reclaim(permits)
  release(permits, redis.call('zremrangebyscore', permits.timeouts, '-inf', permits.now))
end
