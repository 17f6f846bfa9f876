-- renew: make sure that each lock an owner still has lives at least a lease from now.
-- KEYS    [1..] lock hashes
-- ARGV    [1] lease ms   [2..] owner of each lock, in the order of KEYS
-- RETURNS a list in the order of KEYS: 1 renewed, 0 this owner does not have it
-- RETRY   safe: compares the owner, never creates, never shortens
-- insert clock
local lease = tonumber(ARGV[1])
-- One text for all: from a number Redis would make one each time, and of a lease a moment.
local endsAt = string.format('%.0f', clock() + lease)

-- Redis 7 compares by itself (GT), which spares a call, the dearest part of a renewal. It leaves a key without an end
-- as it is, as one that ends later.
local function prolong(key)
  if redis.REDIS_VERSION_NUM and redis.call('pexpireat', key, endsAt, 'gt') == 1 then
    return
  end
  if redis.call('pttl', key) < lease then
    redis.call('pexpireat', key, endsAt)
  else
    -- A write that changes nothing, as below.
    redis.call('hdel', key, '')
  end
end

local answers = {}
for i, key in ipairs(KEYS) do
  -- pcall: a key of another type under one name is that lock's loss, not a failure of its neighbours.
  if redis.pcall('hexists', key, ARGV[i + 1]) == 1 then
    prolong(key)
    answers[i] = 1
  else
    -- A write that changes nothing: on a demoted primary it fails, instead of a loss that stale data tells of.
    local touched = redis.pcall('hdel', key, '')
    if type(touched) == 'table' and touched.err and string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
      return touched
    end
    answers[i] = 0
  end
end
return answers
