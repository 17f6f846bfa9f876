-- hand-over: replace the owner of a lock by the name that stands for a token, and keep the lock for a time.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner   [3] note of the hold, absent where it has none
-- ARGV    [1] owner   [2] name that stands for the token   [3] ms to keep the lock
--         [4] sequence of this command   [5] tombstone ttl ms
-- RETURNS 1 handed over, 0 this owner does not have it
-- RETRY   safe: a copy finds the name and leaves its time as it is; one that comes after the adoption finds no owner
-- insert tombstone
-- insert lock/forget
-- Always, unlike a release. The adopter of the lock knows nothing of this owner's commands: after the adopter's release
-- a late copy of this owner's acquire would find the lock free.
refuseCopies(KEYS[2], 0, ARGV[4], ARGV[4], ARGV[5])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return redis.call('hexists', KEYS[1], ARGV[2])
end
-- In this order: without any field the key would be deleted.
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('hdel', KEYS[1], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[3])
if KEYS[3] then
  forget(KEYS[3], ARGV[1])
end
return 1
