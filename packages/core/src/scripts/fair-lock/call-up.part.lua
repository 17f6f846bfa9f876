-- call-up: gives a free lock to the first in line.
-- A Java waiter hears on its own channel that it may try; a client that does not use what it is given lets its waiters
-- try as well.
-- unlock: Redisson's channel; publish: PUBLISH or SPUBLISH on it.
-- insert lock/give
local function callUp(q, lock, first, inboxPrefix, unlock, publish)
  local owner = first.owner
  if first.marks and string.find(first.marks, 'g', 1, true) then
    give(lock, owner, first.untilMs, inboxPrefix)
    remove(q, owner)
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
