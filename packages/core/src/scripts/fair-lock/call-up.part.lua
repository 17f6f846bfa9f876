-- call-up: gives a free lock to the first in line.
-- insert lock/give
-- Who stands directly behind the first in line and is of the same client, which may pass the lock on to them in this
-- order: their thread ids, each behind a comma.
local function behindFirst(q, client)
  local ids, prefix = '', client .. ':'
  local next = q.listed > 1 and redis.call('lindex', q.list, 1)
  -- With a process for each waiter it is somebody else: whoever comes then need not be looked at.
  if not next or string.sub(next, 1, #prefix) ~= prefix then return ids end
  for _, owner in ipairs(redis.call('lrange', q.list, 1, 31)) do
    if string.sub(owner, 1, #prefix) ~= prefix then break end
    ids = ids .. ',' .. string.sub(owner, #prefix + 1)
  end
  return ids
end

-- A Java waiter hears on its own channel that it may try; a client that does not use what it is given lets its waiters
-- try as well.
-- unlock: Redisson's channel; publish: PUBLISH or SPUBLISH on it.
local function callUp(q, lock, first, inboxPrefix, unlock, publish)
  local owner = first.owner
  if first.marks and string.find(first.marks, 'g', 1, true) then
    local passesOn = string.find(first.marks, 'p', 1, true)
    give(lock, owner, first.untilMs, inboxPrefix, passesOn and behindFirst(q, clientOf(owner)))
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
