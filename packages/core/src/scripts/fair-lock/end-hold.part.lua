-- end-hold: ends the hold of an owner and its place in the queue, and grants the lock to the first waiter.
-- insert touch
-- insert fair-lock/head
-- insert fair-lock/grant-to-first
-- insert fair-lock/leave-passed
-- insert lock/forget
-- insert lock/is-free

-- openQueue: reads the queue, which the lock does not depend on; note: its key, nil where the hold has none; passed: waiters
-- that it was passed on to inside their process, which is queued still.
-- Returns 1 released, 0 the owner held nothing, -n released, and a waiter of ours has n ms to use it while others wait.
local function endHold(lock, owner, note, openQueue, passed, inboxes, unlock, command)
  -- pcall: the way out of the queue is open also when something of another type has the name of the lock.
  local mine = redis.pcall('hexists', lock, owner) == 1
  local q
  -- A write, even if nothing is released. On a demoted primary it fails, and after it Redis lets the queue be written even
  -- when it is out of memory.
  if mine then
    redis.call('del', lock)
  else
    q = besideLock(function()
      local queue = openQueue()
      remove(queue, owner)
      tidy(queue)
      return queue
    end)
    touch(lock)
  end
  if note then forget(note, owner) end
  local usedWithinMs = besideLock(function()
    q = q or openQueue()
    if q.listed == 0 and q.ours == 0 and not passed[1] then return 0 end
    leavePassed(q, lock, passed, not mine)
    local first = (mine or isFree(lock)) and head(q)
    local ms = first and grantToFirst(q, lock, first, inboxes, unlock, command) or 0
    tidy(q)
    return ms
  end)
  if mine and (usedWithinMs or 0) > 0 then return -usedWithinMs end
  return mine and 1 or 0
end
