-- renew: give each lock that its owner still has at least one lease from now.
-- KEYS    [1..] lock hashes
-- ARGV    [1] lease ms   [2..] owner of each lock, in the order of KEYS
-- RETURNS the indexes in KEYS of the locks that their owner no longer has; usually an empty list
-- RETRY   safe: compares the owner, never creates, never shortens
-- insert clock
local lease = tonumber(ARGV[1])
-- Formatted once: given a number, Redis would format it for every key, and PEXPIRE would compute the end each time.
local endsAt = string.format('%.0f', clock() + lease)

-- Redis 7 compares by itself (GT), which saves a call, and calls are most of the cost of a renewal. With GT a key without
-- a time to live stays as it is: it counts as one that never ends.
local compares = redis.REDIS_VERSION_NUM
-- Also a lease that is longer already is written, as long as it is: WAIT asks replicas for the last write of its own
-- connection. On a new one, a renewal without a write would count as acknowledged by replicas that do not have the lease.
local function prolong(key)
  redis.call('pexpire', key, math.max(redis.call('pttl', key), lease))
end

-- Locals are faster to look up, and every lock uses these.
local call, try, lost = redis.call, redis.pcall, {}
for i, key in ipairs(KEYS) do
  -- try: a key of another type means that this lock is lost. It must not fail the renewal of the others.
  if try('hexists', key, ARGV[i + 1]) == 1 then
    if not compares or call('pexpireat', key, endsAt, 'gt') == 0 then
      prolong(key)
    end
  else
    -- A write that changes nothing: on a demoted primary the script fails here, instead of reporting a loss from stale data.
    local touched = try('hdel', key, '')
    if type(touched) == 'table' and touched.err and string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
      return touched
    end
    lost[#lost + 1] = i
  end
end
return lost
