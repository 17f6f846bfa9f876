-- acquire: take permits that end, all that are wanted or none.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6] lease ms, 0 for no end   [7..] ids, in hex
-- RETURNS {1 taken, 0 not enough, -1 over (a late copy, or cancelled); permits left; ms until one ends, -1 for never;
--         ms until the semaphore ends, negative for never}
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert permit-semaphore/permits
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }
local operation = begin(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local free = numberAt(KEYS[1])
if not free then
  return NOT_A_NUMBER
end
local ended = redis.call('zcount', KEYS[2], '-inf', permits.now)
local ttl = redis.call('pttl', KEYS[1])
local outcome = operation.outcome
if not outcome then
  local wanted = #ARGV - 6
  outcome = free + ended >= wanted and 1 or 0
  if outcome == 1 then
    -- ZADD comes first: it is what Redis refuses when out of memory, and a write before it would let it pass.
    local ends = ARGV[6] == '0' and FOREVER or permits.now + tonumber(ARGV[6])
    for i = 1, wanted do
      redis.call('zadd', KEYS[2], ends, raw(ARGV[i + 6]))
    end
    reclaim(permits)
    redis.call('decrby', KEYS[1], wanted)
    -- Or else one of the two would outlive the other, and the permits that are held would be missing for ever.
    if ttl > 0 then
      redis.call('pexpire', KEYS[2], ttl)
    else
      redis.call('persist', KEYS[2])
    end
  else
    reclaim(permits)
  end
  keep(operation, outcome)
end
local first = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
local wait = first and tonumber(first) < FOREVER and math.max(tonumber(first) - permits.now, 0) or -1
return { outcome, numberAt(KEYS[1]), wait, ttl }
