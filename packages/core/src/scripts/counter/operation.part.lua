-- operation: an operation of one client on a counter counts once, however many copies of it arrive, and whenever.
-- Its outcome is kept until the client has the answer. Operations up to the floor are over: nothing is kept of
-- them, and a copy does nothing. -1: over, or cancelled.

-- insert counter/number

-- The first step of each operation. `outcome` is the outcome of an earlier run; nil: it has not run.
local function begin(key, number, floor, ttl)
  local operation = { key = key, number = number, floor = floor, ttl = ttl }
  local kept = redis.call('hmget', key, number, 'floor')
  if kept[1] or (tonumber(kept[2] or 0) or 0) >= tonumber(number) then
    -- A write that a demoted primary refuses, that Redis allows when it is out of memory, and that WAIT asks replicas for: a
    -- copy may run on another connection than the first.
    redis.call('pexpire', key, ttl)
    operation.outcome = tonumber(kept[1] or -1)
  end
  return operation
end

-- The same for an operation on a counter. Returns also its value, and the answer that ends the script: an earlier outcome, or
-- that something else has the name of the counter.
local function beginOn(counter, key, number, floor, ttl)
  local operation, value = begin(key, number, floor, ttl), numberAt(counter)
  return operation, value, not value and NOT_A_NUMBER or operation.outcome
end

local function keep(operation, outcome)
  -- A late command has an older floor. Lowering the floor to that would let copies in again.
  local floor = math.max(tonumber(operation.floor), tonumber(redis.call('hget', operation.key, 'floor') or 0) or 0)
  redis.call('hset', operation.key, operation.number, outcome, 'floor', floor)
  redis.call('pexpire', operation.key, operation.ttl)
  -- Not each time: all operations are checked once for every sixteen new ones.
  if redis.call('hlen', operation.key) % 16 == 0 then
    for _, field in ipairs(redis.call('hkeys', operation.key)) do
      if field ~= 'floor' and (tonumber(field) or 0) <= floor then
        redis.call('hdel', operation.key, field)
      end
    end
  end
  return outcome
end
