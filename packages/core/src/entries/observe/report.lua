-- report: keep what a client says of itself, for a while, where observers find it.
-- KEYS    [1] report of the client   [2] clients that report (client id -> until when, ms)
-- ARGV    [1] client id   [2] ttl ms; 0: the client reports no more   [3] the report
-- RETURNS 1
-- RETRY   safe: a copy writes the same report again. One that comes after the last leaves it for a ttl
-- insert clock
local now = clock()
-- Before anything else, and allowed out of memory: the index does not grow with clients that are gone.
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
redis.call('zrem', KEYS[2], ARGV[1])
if ARGV[2] == '0' then
  redis.call('del', KEYS[1])
  return 1
end
redis.call('set', KEYS[1], ARGV[3], 'px', ARGV[2])
redis.call('zadd', KEYS[2], now + tonumber(ARGV[2]), ARGV[1])
redis.call('pexpire', KEYS[2], math.max(redis.call('pttl', KEYS[2]), tonumber(ARGV[2])))
return 1
