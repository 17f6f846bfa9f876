-- inspect: the owners of the lock, their hold counts, and the lease that is left.
-- KEYS    [1] lock hash (owner -> holds)
-- ARGV    none
-- RETURNS {ttl ms, owner, holds, owner, holds, ...}; ttl is -2 without a lock, -1 without a time to live
-- RETRY   safe: changes nothing
-- insert touch
touch(KEYS[1])
local answer = redis.call('hgetall', KEYS[1])
-- Fields can have times of their own: without one there is no lock, though its key may be there for a moment.
table.insert(answer, 1, answer[1] and redis.call('pttl', KEYS[1]) or -2)
return answer
