-- heartbeat: a client reports that its waiters are alive, and learns who is first.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
-- ARGV    [1] client id   [2] ms it counts as alive   [3] ms that Redisson gives each waiter
--         [4] prefix of the inbox channels of clients   [5] unlock channel   [6] PUBLISH or SPUBLISH
--         [7] marks of it, see `parseLiveness`
-- RETURNS {ttl ms, -2 when the lock is free; holder; holds, -1 of the string of another library; first in the queue; ms the first counts as alive;
--         Java clients in the queue; since when this client has lived without a gap; until when it counts as alive, ms of Redis; ms until then}
-- RETRY   safe: the same again
-- insert touch
-- insert fair-lock/head
-- insert fair-lock/grant-to-first
-- insert foreign-lock/holder
touch(KEYS[5])
local holder = holderAt(KEYS[1])
if holder.err then return holder end
local lease = holder[1] and redis.call('pttl', KEYS[1]) or -2
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[3])
local since, untilMs, left = recordHeartbeat(q, ARGV[1], tonumber(ARGV[2]), ARGV[7])
q.isSure = true
local first = head(q)
-- The first waiter is not known yet: the client should ask again when it is.
if lease == -2 and rejoinsUntil(q) > 0 then lease = rejoinsUntil(q) - q.now end
if q.isUnknown then untilMs, since = livenessOf(q, ARGV[1]) end
if redis.call('hlen', KEYS[5]) > 2 * q.ours + 16 then
  -- Entries of dead clients would pile up for as long as the queue is not empty.
  for _, client in ipairs(redis.call('hkeys', KEYS[5])) do
    if not string.find(client, ':', 1, true) and livenessOf(q, client) <= q.now then
      redis.call('hdel', KEYS[5], client)
    end
  end
end
-- Holdfast only raises times, early enough: a Java client that takes the lock lowers them all, and any Java client that
-- arrives drops a stale first waiter. Times rise along the queue.
for _, owner in ipairs(redis.call('zrange', KEYS[4], 0, 99)) do
  if tonumber(redis.call('zscore', KEYS[3], owner) or 0) > q.now + q.patience / 2 then
    break
  end
  redis.call('zadd', KEYS[3], 'xx', 'gt', q.now + q.patience, owner)
end
if first and lease == -2 and clientOf(first.owner) ~= ARGV[1] then
  -- The message for it may be lost, or the lease expired without a message.
  grantToFirst(q, KEYS[1], first, ARGV[4], ARGV[5], ARGV[6])
end
local aliveMs = first and math.ceil(first.untilMs - q.now) or 0
local redissonCount = redissonWaiters(q)
tidy(q)
return {
  lease, holder[1] or '', holder[2] or 0, first and first.owner or '', aliveMs, redissonCount, since, untilMs, left
}
