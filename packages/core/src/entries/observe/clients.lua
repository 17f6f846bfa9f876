-- clients: the clients that report, and until when each report lasts.
-- KEYS    [1] clients that report   [2] a key that is never written
-- ARGV    none
-- RETURNS {client id, until when in ms since 1970, ...}
-- RETRY   safe: changes nothing
-- insert clock
redis.call('del', KEYS[2])
return redis.call('zrangebyscore', KEYS[1], clock(), '+inf', 'withscores')
