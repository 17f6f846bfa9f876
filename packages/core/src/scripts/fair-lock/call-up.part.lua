-- call-up: gives a free lock to the first in line, and says so.
-- One of ours has the lock from now on, for as long as its client counts as alive: it hears that in the inbox of its
-- client, with the end of that life, which its client knows as the answer to a heartbeat. What is told is a doorbell:
-- whoever missed it finds itself the owner at its next try. A Java waiter hears on its own channel that it may try.
-- A client that does not use what it is given lets its waiters try as well.
-- unlock: Redisson's channel; publish: PUBLISH or SPUBLISH on it.
local function callUp(q, lock, first, inboxPrefix, unlock, publish)
  local owner = first.owner
  if first.marks and string.find(first.marks, 'g', 1, true) then
    local untilMs = string.format('%.0f', first.untilMs)
    redis.call('hset', lock, owner, 1)
    redis.call('pexpireat', lock, untilMs)
    remove(q, owner)
    redis.call('publish', inboxPrefix .. clientOf(owner), 'grant:' .. untilMs .. ':' .. owner)
    return
  end
  -- It has come at a far place, perhaps, and got the patience of all before it: now its own is left.
  redis.call('zadd', q.scores, 'xx', 'lt', q.now + q.patience, owner)
  if first.marks then
    redis.call('publish', inboxPrefix .. clientOf(owner), 'turn:' .. owner)
  else
    redis.call(publish, unlock .. ':' .. owner, '0')
  end
end
