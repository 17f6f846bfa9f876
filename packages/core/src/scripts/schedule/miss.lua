-- miss: note a tick that a process could not run, unless it is known already.
-- KEYS    [1] ticks of the schedule
-- ARGV    [1] tick   [2] ttl of the ticks ms   [3] how many of them are kept
-- RETURNS 1 noted, 0 it is known of, or so far ahead that nobody may begin it
-- RETRY   safe: what is known of a tick stays; who runs it after all puts that in its place
-- insert touch
-- insert schedule/ticks
touch(KEYS[1])
local now = clock()
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 or isTooFarAhead(tonumber(ARGV[1]), now) then
  return 0
end
local entry = { state = 'missed', from = asText(now) }
note(KEYS[1], tonumber(ARGV[1]), entry, { ttl = ARGV[2], most = ARGV[3] })
return 1
