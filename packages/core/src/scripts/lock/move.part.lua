-- move: names another owner of what one has.
-- In this order: without a field the key would go, and its time to live with it. Returns whether that one has anything.
local function move(lock, from, to)
  local holds = redis.call('hget', lock, from)
  if holds then
    redis.call('hset', lock, to, holds)
    redis.call('hdel', lock, from)
  end
  return holds
end
