-- miss: note a tick that a process could not run, unless it is known already.
-- KEYS    [1] ticks of the schedule
-- ARGV    [1] tick   [2] ttl of the ticks ms   [3] how many of them are kept
-- RETURNS 1 noted, 0 the tick has an entry already, or is too far ahead to begin
-- RETRY   safe: an entry of the tick stays; an owner that runs the tick after all replaces it
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
