-- read: all noted ticks of a schedule.
-- KEYS    [1] lock hash (owner -> holds)   [2] ticks of the schedule
-- ARGV    none
-- RETURNS {owners of the lock, {tick, its entry as JSON, ...}}
-- RETRY   safe: changes nothing
-- insert touch
touch(KEYS[2])
return { redis.call('hkeys', KEYS[1]), redis.call('hgetall', KEYS[2]) }
