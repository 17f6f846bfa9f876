-- renew: make sure that each read lock an owner still has lives at least a lease from now, and its holds with it.
-- KEYS    [1..] lock hashes; then, in the same order, what the time-out keys of each owner's holds begin with
-- ARGV    [1] lease ms   [2..] owner of each lock, in the order of KEYS
-- RETURNS as lock/renew
-- RETRY   safe: compares the owner, never creates a lock, never shortens
local lease = tonumber(ARGV[1])
local lost = {}
local count = #KEYS / 2
for i = 1, count do
  local key = KEYS[i]
  -- pcall: a key of another type under one name is that lock's loss, not a failure of its neighbours.
  local touched = redis.pcall('hdel', key, '')
  local isError = type(touched) == 'table' and touched.err
  if isError and string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
    return touched
  end
  local holds = not isError and tonumber(redis.call('hget', key, ARGV[i + 1]))
  if holds then
    redis.call('pexpire', key, math.max(redis.call('pttl', key), lease))
    for n = 1, holds do
      local timeout = KEYS[count + i] .. ':' .. n
      if redis.call('pttl', timeout) < lease then
        redis.call('set', timeout, '1', 'px', lease)
      end
    end
  else
    lost[#lost + 1] = i
  end
end
return lost
