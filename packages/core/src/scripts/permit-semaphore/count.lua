-- count: how many permits are free, and how many are held.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)
-- ARGV    [1] channel   [2] PUBLISH or SPUBLISH
-- RETURNS {free, held}
-- RETRY   safe: frees permits that have ended, and no others
-- insert counter/number
-- insert permit-semaphore/permits
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[1], publish = ARGV[2], now = clock() }
if not numberAt(KEYS[1]) then
  return NOT_A_NUMBER
end
-- A write, even if nothing has expired: on a demoted primary it fails, instead of an answer from stale data.
reclaim(permits)
return { numberAt(KEYS[1]), redis.call('zcard', KEYS[2]) }
