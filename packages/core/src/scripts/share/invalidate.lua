-- invalidate: forget the kept result, and do not keep that of the run under way.
-- KEYS    [1] lock hash (owner -> holds)   [2] kept result
-- ARGV    [1] how long that run is remembered ms
-- RETURNS 1 done
-- RETRY   safe: a late copy forgets what was kept since, which costs a run
redis.call('del', KEYS[2])
local holder = redis.call('hkeys', KEYS[1])[1]
if holder then
  redis.call('hset', KEYS[2], 'outdated', holder)
  redis.call('pexpire', KEYS[2], ARGV[1])
end
return 1
