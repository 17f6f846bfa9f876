-- invalidate: forget the kept result, do not keep that of the run under way, and begin a generation.
-- Results from before it are told from later ones by their generation, for as long as they can be fetched.
-- KEYS    [1] lock hash (owner -> holds)   [2] kept result
-- ARGV    [1] how long a run under way is remembered ms
--         [2] how long callers may fetch the result of a run that has ended ms
-- RETURNS owner of the run under way, if it was not outdated before; else ''
-- RETRY   safe: a late copy begins another generation and forgets what was kept since, which costs a run
-- insert clock
local outdated, before = unpack(redis.call('hmget', KEYS[2], 'outdated', 'generation'))
redis.call('del', KEYS[2])
local holder = redis.call('hkeys', KEYS[1])[1]
-- Later than any before, also than one that has ended with its key: a copy of an older invalidate would make valid again
-- what a newer one had made outdated.
local latest = tonumber(string.match(before or '', '^%d+$') or '0')
redis.call('hset', KEYS[2], 'generation', string.format('%.0f', math.max(clock(), latest + 1)))
if holder then
  redis.call('hset', KEYS[2], 'outdated', holder)
end
redis.call('pexpire', KEYS[2], holder and ARGV[1] or ARGV[2])
return holder ~= outdated and holder or ''
