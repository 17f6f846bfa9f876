-- invalidate: forget the kept result, do not keep that of the run under way, and begin a generation.
-- Results from before it are told from later ones by their generation, for as long as they can be fetched.
-- KEYS    [1] lock hash (owner -> holds)   [2] kept result
-- ARGV    [1] the generation, a name that no other has   [2] how long a run under way is remembered ms
--         [3] how long callers may fetch the result of a run that has ended ms
-- RETURNS owner of the run under way, if it was not outdated before; else ''
-- RETRY   safe: a late copy forgets what was kept since, which costs a run
local outdated = redis.call('hget', KEYS[2], 'outdated')
redis.call('del', KEYS[2])
local holder = redis.call('hkeys', KEYS[1])[1]
redis.call('hset', KEYS[2], 'generation', ARGV[1])
if holder then
  redis.call('hset', KEYS[2], 'outdated', holder)
end
redis.call('pexpire', KEYS[2], holder and ARGV[2] or ARGV[3])
return holder ~= outdated and holder or ''
