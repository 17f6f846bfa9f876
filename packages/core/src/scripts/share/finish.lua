-- finish: leave the result of a run, release its lock, and wake those who wait.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner   [3] note of the hold   [4] kept result
--         [5] result of this run
-- ARGV    [1] owner   [2] sequence of this command
--         [3] highest sequence whose copies must be refused from now on, 0 for none   [4] tombstone ttl ms
--         [5] "v" and the result, "e" and the error, or "n": nothing was run   [6] how long its callers may fetch that ms
--         [7] how long a result counts as fresh ms   [8] how long it is kept ms, 0 for not at all
--         [9] unlock channel   [10] PUBLISH or SPUBLISH
-- RETURNS 1 accepted and released, 0 this owner does not run: nothing is left, and nobody is told
-- RETRY   safe: compares the owner, and a copy finds none
-- insert tombstone
-- insert lock/forget
-- insert clock
refuseCopies(KEYS[2], 0, ARGV[2], ARGV[3], ARGV[4])
local outdated = redis.call('hget', KEYS[4], 'outdated')
-- A write in any case, and one that Redis allows when it is out of memory; those behind it pass.
local mine = redis.call('hdel', KEYS[1], ARGV[1]) == 1
forget(KEYS[3], ARGV[1])
if not mine then
  return 0
end
local stored = string.format('%.0f', clock()) .. ' ' .. ARGV[5]
redis.call('set', KEYS[5], stored, 'px', ARGV[6])
if string.sub(ARGV[5], 1, 1) == 'v' then
  -- Also one that is not kept takes an older one's place.
  redis.call('del', KEYS[4])
  if ARGV[8] ~= '0' and outdated ~= ARGV[1] then
    redis.call('hset', KEYS[4], 'run', ARGV[1], 'stored', stored, 'fresh', ARGV[7], 'usable', ARGV[8])
    redis.call('pexpire', KEYS[4], ARGV[8])
  end
elseif outdated == ARGV[1] then
  redis.call('hdel', KEYS[4], 'outdated')
end
redis.call(ARGV[10], ARGV[9], '0')
return 1
