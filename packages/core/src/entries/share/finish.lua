-- finish: leave the result of a run, release its lock, and wake those who wait.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner   [3] note of the hold   [4] kept result
--         [5] result of this run
-- ARGV    [1] owner   [2] sequence of this command
--         [3] highest sequence whose copies must be refused from now on, 0 for none   [4] tombstone ttl ms
--         [5] "v" and the result, "e" and the error, or "n": nothing was run   [6] how long its callers may fetch that ms
--         [7] how long a result counts as fresh ms   [8] how long it is kept ms, 0 for not at all
--         [9] unlock channel   [10] PUBLISH or SPUBLISH
-- RETURNS 1 accepted and released, 2 the same, of a run that was invalidated meanwhile, 0 this owner does not run: nothing
--         is left, and nobody is told
-- RETRY   safe: compares the owner, and a copy finds none
-- insert tombstone
-- insert lock/forget
-- insert clock
-- insert publish
refuseCopies(KEYS[2], 0, ARGV[2], ARGV[3], ARGV[4])
local known = redis.call('hmget', KEYS[4], 'outdated', 'generation')
local isOutdated, generation = known[1] == ARGV[1], known[2]
-- A write in any case, and one that Redis allows when it is out of memory; those behind it pass.
local mine = redis.call('hdel', KEYS[1], ARGV[1]) == 1
forget(KEYS[3], ARGV[1])
if not mine then
  return 0
end
local stored = string.format('%.0f', clock()) .. ' ' .. ARGV[5]
-- Behind an invalidation a caller sees that the result is from before it: by another generation.
redis.call('set', KEYS[5], (isOutdated and '!' or generation or '-') .. ' ' .. stored, 'px', ARGV[6])
if string.sub(ARGV[5], 1, 1) == 'v' then
  -- Also one that is not kept takes an older one's place.
  redis.call('hdel', KEYS[4], 'run', 'stored', 'fresh', 'usable', 'outdated')
  local livesMs = generation and ARGV[6] or '0'
  if ARGV[8] ~= '0' and not isOutdated then
    redis.call('hset', KEYS[4], 'run', ARGV[1], 'stored', stored, 'fresh', ARGV[7], 'usable', ARGV[8])
    livesMs = tonumber(ARGV[8]) > tonumber(livesMs) and ARGV[8] or livesMs
  end
  redis.call('pexpire', KEYS[4], livesMs)
elseif isOutdated then
  redis.call('hdel', KEYS[4], 'outdated')
  redis.call('pexpire', KEYS[4], ARGV[6])
end
publish(ARGV[10], ARGV[9], '0')
return isOutdated and 2 or 1
