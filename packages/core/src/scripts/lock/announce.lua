-- announce: wake all waiters of a free lock: the waiter that it was granted to may have died before it got the message.
-- KEYS    [1] lock hash (owner -> holds)
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH
-- RETURNS 1 announced, 0 the lock is held, 2 this user may not publish there
-- RETRY   safe: announces it again
-- insert touch
-- insert lock/is-free
-- insert publish
touch(KEYS[1])
if not isFree(KEYS[1]) then
  return 0
end
return publish(ARGV[2], ARGV[1], '0') and 1 or 2
