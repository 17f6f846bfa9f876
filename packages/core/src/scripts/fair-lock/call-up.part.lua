-- call-up: gives a free lock to the first in line, and says so.
-- One of ours has the lock from now on, for as long as its client counts as alive: it hears that in the inbox of its
-- client, with the end of that life, which its client knows as the answer to a heartbeat. What is told is a doorbell:
-- whoever missed it finds itself the owner at its next try. A Java waiter hears on its own channel that it may try.
-- A client that does not use what it is given lets its waiters try as well.
-- unlock: Redisson's channel; publish: PUBLISH or SPUBLISH on it.
local function callUp(q, lock, owner, inboxPrefix, unlock, publish)
  -- It has come at a far place, perhaps, and got the patience of all before it: now its own is left.
  redis.call('zadd', q.scores, 'xx', 'lt', q.now + q.patience, owner)
  if not redis.call('zscore', q.arrivals, owner) then
    redis.call(publish, unlock .. ':' .. owner, '0')
    return
  end
  local client = clientOf(owner)
  local aliveUntil, _, marks = lifeOf(q, client)
  if string.find(marks, 'g', 1, true) then
    local untilMs = string.format('%.0f', aliveUntil)
    redis.call('hset', lock, owner, 1)
    redis.call('pexpireat', lock, untilMs)
    remove(q, owner)
    redis.call('publish', inboxPrefix .. client, 'grant:' .. untilMs .. ':' .. owner)
  else
    redis.call('publish', inboxPrefix .. client, 'turn:' .. owner)
  end
end
