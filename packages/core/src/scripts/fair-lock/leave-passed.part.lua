-- leave-passed: takes those out of line whom the lock was passed on to inside their process.
-- isLost: it was taken away from there; one of them may have been given it since, and has no use for it.
local function leavePassed(q, lock, owners, isLost)
  if not owners[1] then return end
  for _, owner in ipairs(owners) do
    q.listed = q.listed - redis.call('lrem', q.list, 1, owner)
  end
  redis.call('zrem', q.scores, unpack(owners))
  q.ours = q.ours - redis.call('zrem', q.arrivals, unpack(owners))
  if isLost then redis.pcall('hdel', lock, unpack(owners)) end
end
