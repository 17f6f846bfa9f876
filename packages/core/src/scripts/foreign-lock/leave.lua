-- leave: remove a waiter from the queue of a plain lock. lock/release cannot do it while the lock's key is a string.
-- KEYS    [1] queue of waiters that a release may grant the lock to
-- ARGV    [1] owner
-- RETURNS 1 the owner was in the queue, 0 it was not
-- RETRY   safe: a second run finds nothing
-- insert lock/queue
-- pcall: a key of another type is not a queue.
if type(redis.pcall('zscore', KEYS[1], ARGV[1])) ~= 'string' then
  return 0
end
leave(KEYS[1], ARGV[1])
return 1
