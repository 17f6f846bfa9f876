-- get-token: the token of the latest acquisition.
-- KEYS    [1] lock hash   [2] token counter
-- ARGV    none
-- RETURNS the token, nil when none was given yet
-- RETRY   safe: changes nothing
-- insert touch
touch(KEYS[1])
return redis.call('get', KEYS[2])
