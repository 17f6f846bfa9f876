-- acquire: take a free lock for the first in the queue, else is queued; or set the hold count of its owner.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
--         [6] tombstone of this owner   [7] note of the hold
-- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] tombstone ttl ms
--         [7] client id   [8] ms it counts as alive   [9] ms that Redisson gives each waiter   [10] number this owner came
--         at, 0 for none yet, -1 when it does not wait   [11] [12] [13] as fair-lock/release [7..9]   [14] marks, see `parseLiveness`
--         [15] note, or absent or '', as lock/acquire   [16] 1 where it waits for the string of another library
--         [17] how many may be in the queue for it to join them, absent for any number
-- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy), else {ttl ms, holder,
--         holds, number it came at (of one that may not join -1 less the ms that the first has waited), place in the queue, Java clients in the queue, since when its client has lived without a
--         gap, until when it counts as alive (ms of Redis), ms until then, and with a note as lock/acquire}: it waits
-- RETRY   safe: writes the absolute count; an owner is queued once; late copies meet the tombstone
local holds = tonumber(ARGV[2])
local isPlain = holds == 1 and ARGV[5] == '0' and (ARGV[15] or '') == ''
if isPlain and redis.call('exists', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]) == 0 then
  -- HSET comes first: Redis refuses it when out of memory, and a write before it would let it pass.
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1
end
-- insert touch
-- insert fair-lock/head
-- insert fair-lock/join
-- insert fair-lock/grant-to-first
-- insert tombstone
-- insert lock/note
-- insert foreign-lock/holder
local holder = ARGV[16] == '1' and holderAt(KEYS[1]) or redis.call('hgetall', KEYS[1])
if holder.err then return holder end
local mine = holder[1] == ARGV[1] or holder[3] and redis.call('hexists', KEYS[1], ARGV[1]) == 1
local superseded = isLate(KEYS[6], ARGV[4])
if superseded or (holds > 1 and not mine) then
  touch(KEYS[1])
  return superseded and 3 or 2
end
-- A write that changes nothing, of a kind that Redis refuses when out of memory. Other scripts tidy the queue.
redis.call('setrange', KEYS[6], 0, '')
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[9])
local since, untilMs, left, answer = 0, 0, 0, 1
-- A call that does not wait is no sign of life for waiters: an abandoned waiter must not stay alive because of it.
local waits = ARGV[10] ~= '-1'
if not mine and waits then
  -- ZCARD fails if a key of another type has that name, before anything of this waiter is in the queue.
  redis.call('zcard', KEYS[3])
  since, untilMs, left = recordHeartbeat(q, ARGV[7], tonumber(ARGV[8]), ARGV[14])
end
local isFree = not holder[1]
-- While the lock is held, the first waiter need not be known, unless Java clients may have changed that: the heartbeats
-- of waiters remove dead ones, and so do attempts that do not wait.
q.isBack = tonumber(ARGV[10]) > 0
q.isSure = q.isBack
local needsFirst = isFree or not waits or redissonWaiters(q) ~= 0 or q.isBack and q.ours == 0
local first = not mine and needsFirst and head(q)
-- The caller may itself be the first waiter with a listener. A grant from its own attempt would put it in the queue again behind
-- itself, and its release would grant the lock to that second entry, which has no waiting caller.
if isFree and first and first.owner ~= ARGV[1] then first = firstSubscribed(q, first, ARGV[11]) end
local awaitsMs = not mine and isFree and not first and math.max(0, rejoinsUntil(q) - q.now) or 0
if mine or (isFree and awaitsMs == 0 and (not first or first.owner == ARGV[1])) then
  redis.call('hset', KEYS[1], ARGV[1], holds)
  redis.call('pexpire', KEYS[1], mine and math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3])) or ARGV[3])
  if ARGV[5] ~= '0' then redis.call('set', KEYS[6], ARGV[5], 'px', ARGV[6]) end
  if not mine then remove(q, ARGV[1]) end
  describe(KEYS[7], ARGV[1], holds, ARGV[15])
else
  if first and isFree then grantToFirst(q, KEYS[1], first, ARGV[11], ARGV[12], ARGV[13]) end
  holder = isFree and redis.call('hgetall', KEYS[1]) or holder
  local lease, owner, held = redis.call('pttl', KEYS[1]), holder[1] or '', holder[2] or 0
  if awaitsMs > 0 then lease = awaitsMs end
  local number, place, redissonCount = join(q, ARGV[1], tonumber(ARGV[10]), lease, tonumber(ARGV[17] or ''))
  answer = { lease, owner, held, number, place, redissonCount, since, untilMs, left, noteOf(KEYS[7], owner) }
end
tidy(q)
return answer
