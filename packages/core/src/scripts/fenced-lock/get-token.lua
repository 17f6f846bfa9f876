-- get-token: the token of the latest acquisition.
-- KEYS    [1] lock hash   [2] token counter
-- ARGV    none
-- RETURNS the token, nil when none was given yet
-- RETRY   safe: changes nothing
-- A write that changes nothing: on a demoted primary it fails, instead of an answer from stale data.
redis.call('hdel', KEYS[1], '')
return redis.call('get', KEYS[2])
