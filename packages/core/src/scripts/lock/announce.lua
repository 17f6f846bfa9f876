-- announce: wake all waiters of a free lock: the waiter that it was granted to may have died before it got the message.
-- KEYS    [1] lock hash (owner -> holds)
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH
-- RETURNS 1 announced, 0 the lock is held
-- RETRY   safe: announces it again
-- insert touch
touch(KEYS[1])
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call(ARGV[2], ARGV[1], '0')
return 1
