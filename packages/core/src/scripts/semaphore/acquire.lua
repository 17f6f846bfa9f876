-- acquire: take permits, all that are wanted or none.
-- KEYS    [1] free permits (a number)   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] permits
-- RETURNS {1 taken, 0 not enough, -1 over (a late copy, or cancelled); permits left; of a first refusal 1, or 0 where
--         there is no semaphore}
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert touch
local operation = begin(KEYS[2], ARGV[1], ARGV[2], ARGV[3])
local free = numberAt(KEYS[1])
if not free then
  return NOT_A_NUMBER
end
if operation.outcome then
  return { operation.outcome, free }
end
if free < tonumber(ARGV[4]) then
  -- After it, a refusal can be kept even when Redis is out of memory: a wait need not end because of that.
  touch(KEYS[2])
  return { keep(operation, 0), free, redis.call('exists', KEYS[1]) }
end
-- DECRBY comes first: it is what Redis refuses when out of memory, and a write before it would let it pass.
free = redis.call('decrby', KEYS[1], ARGV[4])
return { keep(operation, 1), free }
