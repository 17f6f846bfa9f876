-- acquire: take permits, all that are wanted or none.
-- KEYS    [1] free permits (a number)   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] permits
-- RETURNS {1 taken, 0 not enough, -1 over (a late copy, or cancelled); permits left}
-- RETRY   safe: an operation counts once
-- insert counter/once
-- insert counter/number
local operation = { key = KEYS[2], number = ARGV[1], floor = ARGV[2], ttl = ARGV[3] }
local free = numberAt(KEYS[1])
if not free then
  return NOT_A_NUMBER
end
local outcome = outcomeOf(operation)
if outcome then
  return { outcome, free }
end
if free < tonumber(ARGV[4]) then
  -- After a write that Redis allows when it is out of memory, a refusal can be kept: a wait need not end by it.
  redis.call('hdel', KEYS[2], '')
  return { keep(operation, 0), free }
end
-- DECRBY comes first: it is what Redis refuses when out of memory, and a write before it would let it pass.
free = redis.call('decrby', KEYS[1], ARGV[4])
return { keep(operation, 1), free }
