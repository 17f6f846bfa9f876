-- get: the value of a counter.
-- KEYS    [1] the counter   [2] operations of this client
-- ARGV    none
-- RETURNS the value, 0 when there is none
-- RETRY   safe: changes nothing
-- insert touch
-- insert counter/number
touch(KEYS[2])
return numberAt(KEYS[1]) or NOT_A_NUMBER
