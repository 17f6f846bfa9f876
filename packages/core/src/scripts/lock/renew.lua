-- renew: make sure that each lock an owner still has lives at least a lease from now.
-- KEYS    [1..] lock hashes
-- ARGV    [1] lease ms   [2..] owner of each lock, in the order of KEYS
-- RETURNS a list of the places in KEYS of the locks that their owner does not have; mostly there is none
-- RETRY   safe: compares the owner, never creates, never shortens
-- insert clock
-- insert touch
local lease = tonumber(ARGV[1])
-- One text for all: from a number Redis would make one each time, and of a lease a moment.
local endsAt = string.format('%.0f', clock() + lease)

-- Redis 7 compares by itself (GT), which spares a call, the dearest part of a renewal. It leaves a key without an end
-- as it is, as one that ends later.
local compares = redis.REDIS_VERSION_NUM
local function prolong(key)
  if redis.call('pttl', key) < lease then
    redis.call('pexpireat', key, endsAt)
  else
    touch(key)
  end
end

-- Locals, because each lock uses them.
local call, try, lost = redis.call, redis.pcall, {}
for i, key in ipairs(KEYS) do
  -- try: a key of another type under one name is that lock's loss, not a failure of its neighbours.
  if try('hexists', key, ARGV[i + 1]) == 1 then
    if not compares or call('pexpireat', key, endsAt, 'gt') == 0 then
      prolong(key)
    end
  else
    -- As touch: on a demoted primary it fails, instead of a loss that stale data tells of.
    local touched = try('hdel', key, '')
    if type(touched) == 'table' and touched.err and string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
      return touched
    end
    lost[#lost + 1] = i
  end
end
return lost
