-- leave-passed: removes from the queue the owners that the lock was passed to inside their process.
-- isLost: the lock was lost on that way; it may have been granted to one of them since, which has no use for it.
local function leavePassed(q, lock, owners, isLost)
  if not owners[1] then return end
  for _, owner in ipairs(owners) do
    q.listed = q.listed - redis.call('lrem', q.list, 1, owner)
  end
  redis.call('zrem', q.scores, unpack(owners))
  q.ours = q.ours - redis.call('zrem', q.arrivals, unpack(owners))
  if isLost then redis.pcall('hdel', lock, unpack(owners)) end
end
