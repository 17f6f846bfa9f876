-- tell: send a message to observers of locks, or to the clients that they observe.
-- KEYS    [1] a key that is never written
-- ARGV    [1] channel   [2] message
-- RETURNS how many connections to this server received it
-- RETRY   unsafe: a copy is a second message. Both ends take a message they know for nothing new
-- insert publish
redis.call('del', KEYS[1])
return publish('publish', ARGV[1], ARGV[2]) or 0
