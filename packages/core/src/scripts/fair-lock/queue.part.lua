-- queue: the waiters of a fair lock.
-- It has Redisson's format: a list of owners, and the times after which Java clients drop each from the head. Holdfast's
-- waiters are also in `arrivals`, with their arrival numbers. `heartbeats` has two times of Redis for each client: until
-- when it counts as alive, and since when without a gap. No client id contains a colon, so the same hash can keep three
-- fields of its own, see below.
--
--   q.list, q.scores, q.arrivals, q.heartbeats   the keys
--   q.now         ms of Redis
--   q.patience    ms that Redisson gives each waiter
--   q.listed      number of entries in the list
--   q.ours        number of entries in `arrivals`
--   q.hadOurs     `q.ours` when the script began
--   q.keepMs      how long Holdfast's keys live from now, set once a client is alive
--   q.heard       field `:heard`: when a script last checked which clients are alive; false: never; nil: not read yet
--   q.span        field `:span`: how long the last heartbeat counts
--   q.awaits      field `:awaits`: until when the queue waits for waiters that Redis has lost, see `rebuild`
--   q.isSure      a Holdfast waiter that was in the queue before asks
--   q.isBack      and still waits
--   q.isRebuilt   keys were created, and have no time to live yet
--   q.isUnknown   clients must rejoin with their arrival numbers
--   q.notified    the waiter to grant the lock to, once the script has determined it
-- insert clock
local function queueAt(list, scores, arrivals, heartbeats, patience)
  local q = { list = list, scores = scores, arrivals = arrivals, heartbeats = heartbeats }
  q.now, q.patience = clock(), tonumber(patience)
  q.listed, q.ours = redis.call('llen', q.list), redis.call('zcard', q.arrivals)
  q.hadOurs = q.ours
  return q
end

local function clientOf(owner)
  return string.match(owner, '^(.*):') or owner
end

local function remove(q, owner)
  q.listed = q.listed - redis.call('lrem', q.list, 1, owner)
  redis.call('zrem', q.scores, owner)
  q.ours = q.ours - redis.call('zrem', q.arrivals, owner)
end

local function redissonWaiters(q)
  return q.listed - q.ours
end

-- Work on the queue that the lock does not depend on: a release succeeds even if a key of the queue has another type.
-- Returns the result of the work, nil if it failed.
local function besideLock(work)
  local isDone, result = pcall(work)
  -- Redis's pcall gives text; since Redis 7 also for an error that was raised as a table.
  local failure = not isDone and (type(result) == 'table' and result.err or tostring(result))
  if failure and not string.find(failure, 'WRONGTYPE', 1, true) then
    -- Since 7 an error that is raised as text begins with ERR: the code of this one would be lost.
    error(redis.REDIS_VERSION_NUM and { err = failure } or result, 0)
  end
  return isDone and result or nil
end
