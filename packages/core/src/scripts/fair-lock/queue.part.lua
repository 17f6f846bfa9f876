-- queue: the line of a fair lock's waiters.
-- It is Redisson's: a list of owners, and the times after which Java clients drop one from the head. Waiters of
-- ours are in `arrivals` too, with the number they came at. `heartbeats` has, for each client, until when it counts
-- as alive and since when without a gap, in Redis's time. No client id has a colon, so the hash can also keep
-- `:heard`, when a script last looked who lives, and `:span`, how long the last heartbeat counts.
-- q    { list, scores, arrivals, heartbeats: keys; now: ms; patience: ms that Redisson gives each waiter;
--        listed, ours: how many are in the list, and in arrivals; keepMs: how long our keys live from now, if
--        somebody lives; hasListened: see `lifeOf` }
-- insert clock
-- insert lock/give
local function lineAt(list, scores, arrivals, heartbeats, patience)
  local q = { list = list, scores = scores, arrivals = arrivals, heartbeats = heartbeats }
  q.now, q.patience = clock(), tonumber(patience)
  q.listed, q.ours = redis.call('llen', q.list), redis.call('zcard', q.arrivals)
  return q
end

local function clientOf(owner)
  return string.match(owner, '^(.*):') or owner
end

-- Until when a client counts as alive, since when it has without a gap, and its marks: `s` it was spared, see `listen`;
-- `g` it uses a lock that its waiter is given, `p` and passes it on along the line; `h` it listens to its inbox
-- at this very server: clients on a cluster listen at any node, and do not say so.
local function lifeIn(text)
  local untilMs, since, marks = string.match(text or '', '^(%d+) (%d+) ?(.*)$')
  return tonumber(untilMs or 0), tonumber(since or 0), marks or ''
end

-- The nonce of a client: behind the number of the protocol that it speaks. Hexadecimal, so that it has no mark in it.
local function nonceIn(marks)
  return string.match(marks or '', '2:(%x+)')
end

-- Nobody at all was heard for longer than any heartbeat takes: it was Redis that did not listen. Whoever lived then
-- is given time to say so, once: who does not use it is dead after all. Returns whether it was so.
local function listen(q, heard, span)
  local wasDeaf = q.now - heard > 0.6 * span
  if wasDeaf then
    for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
      local untilMs, since, marks = lifeIn(redis.call('hget', q.heartbeats, client))
      if untilMs > heard and untilMs < q.now + span and not string.find(marks, 's', 1, true) then
        redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %ss', q.now + span, since, marks))
      end
    end
  end
  -- Not by each script anew: a write costs more than a look, and goes to the replicas.
  if q.now - heard > 0.02 * span then
    redis.call('hset', q.heartbeats, ':heard', q.now)
  end
  return wasDeaf
end

-- As `lifeIn`, of a client. With the first life that a script looks at it hears when one last did.
local function lifeOf(q, client)
  if q.hasListened then
    return lifeIn(redis.call('hget', q.heartbeats, client))
  end
  q.hasListened = true
  local heard, span, life = unpack(redis.call('hmget', q.heartbeats, ':heard', ':span', client))
  heard, span = tonumber(heard), tonumber(span)
  if heard and span and listen(q, heard, span) then
    return lifeOf(q, client)
  end
  return lifeIn(life)
end

-- Returns since when it has lived without a gap: a client that finds another beginning than before may have been taken
-- for dead, and its waiters out of the line. And until when it will, and how long that is. One that asks often prolongs
-- its life from time to time.
local function lives(q, client, forMs, marks)
  local untilMs, since, before = lifeOf(q, client)
  local left = untilMs - q.now
  q.keepMs = 2 * math.max(forMs, q.patience)
  if left > 0.94 * forMs and left <= forMs and before == marks then
    return since, untilMs, left
  end
  since = left > 0 and since or q.now
  untilMs = q.now + forMs
  redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', untilMs, since, marks),
    ':heard', q.now, ':span', forMs)
  return since, untilMs, forMs
end

-- A Java client that takes the lock lowers all times, and the next one may drop live waiters of ours, always from
-- the head. That is where they go back to, in the order they came.
local function restore(q)
  local dropped = {}
  local owner = redis.call('zrange', q.arrivals, 0, 0)[1]
  while owner and not redis.call('zscore', q.scores, owner) do
    dropped[#dropped + 1] = owner
    owner = redis.call('zrange', q.arrivals, #dropped, #dropped)[1]
  end
  for i = #dropped, 1, -1 do
    redis.call('lpush', q.list, dropped[i])
    redis.call('zadd', q.scores, q.now + q.patience, dropped[i])
  end
  q.listed = q.listed + #dropped
end

local function remove(q, owner)
  q.listed = q.listed - redis.call('lrem', q.list, 1, owner)
  redis.call('zrem', q.scores, owner)
  q.ours = q.ours - redis.call('zrem', q.arrivals, owner)
end

local function foreigners(q)
  return q.listed - q.ours
end

-- Until when it counts as alive: ours by the heartbeat of its client, with the marks of that, a Java waiter by
-- Redisson's time.
local function waiterOf(q, owner, isOurs)
  if isOurs or redis.call('zscore', q.arrivals, owner) then
    local untilMs, _, marks = lifeOf(q, clientOf(owner))
    -- What no client of ours wrote is dead.
    return { owner = owner, untilMs = untilMs <= q.now + LONGEST_LIFE_MS and untilMs or 0, marks = marks }
  end
  return { owner = owner, untilMs = tonumber(redis.call('zscore', q.scores, owner) or 0) }
end

-- The first who is alive, nil when nobody waits. The dead before it go.
local function head(q)
  local earliest = redis.call('zrange', q.arrivals, 0, 0)[1]
  local owner = redis.call('lindex', q.list, 0)
  if earliest and owner ~= earliest then
    restore(q)
    owner = redis.call('lindex', q.list, 0)
  end
  while owner do
    local first = waiterOf(q, owner, owner == earliest)
    if first.untilMs > q.now then
      return first
    end
    remove(q, owner)
    owner = redis.call('lindex', q.list, 0)
  end
end

-- Work on the line that a lock does not depend on: what is given back is given back, also where something of another
-- type has the name of one of the line's keys. Returns what the work does, nil where it could not be done.
local function besideLock(work)
  local isDone, result = pcall(work)
  -- Redis before 7 raises text.
  local failure = not isDone and (type(result) == 'table' and result.err or tostring(result))
  if failure and not string.find(failure, 'WRONGTYPE', 1, true) then
    error(result, 0)
  end
  return isDone and result or nil
end

-- Comes last. What is ours goes with the last waiter of ours, or ends some time after the last heartbeat. So do the
-- list and the times, or waiters that died as the last in line would leave them for ever; but while a Java client
-- stands there they have no end, because Redisson gives them none.
local function tidy(q)
  local hasStrangers = foreigners(q) > 0
  if hasStrangers then
    redis.call('persist', q.list)
    redis.call('persist', q.scores)
  end
  -- One speaks for all: none of them is there without it, and none was made when it had its end already.
  local key = hasStrangers and q.heartbeats or q.list
  if q.ours == 0 then
    redis.call('del', q.heartbeats)
  elseif q.keepMs and redis.call('pttl', key) < 0.75 * q.keepMs then
    redis.call('pexpire', q.arrivals, q.keepMs)
    redis.call('pexpire', q.heartbeats, q.keepMs)
    if not hasStrangers then
      redis.call('pexpire', q.list, q.keepMs)
      redis.call('pexpire', q.scores, q.keepMs)
    end
  end
end
