// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.

const clock = `local function clock()
local time = redis.call('time')
return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
`
const counterNumber = `local NOT_A_NUMBER = { err = 'WRONGTYPE The value at this key is not a whole number' }
local function numberAt(counter)
local value = redis.call('get', counter)
local digits = string.match(value or '0', '^-?(%d+)$')
return digits and #digits <= 15 and tonumber(value or 0) or nil
end
`
const counterOperation2 = `local function begin(key, number, floor, ttl)
local operation = { key = key, number = number, floor = floor, ttl = ttl }
local kept = redis.call('hmget', key, number, 'floor')
if kept[1] or (tonumber(kept[2] or 0) or 0) >= tonumber(number) then
redis.call('pexpire', key, ttl)
operation.outcome = tonumber(kept[1] or -1)
end
return operation
end
local function beginOn(counter, key, number, floor, ttl)
local operation, value = begin(key, number, floor, ttl), numberAt(counter)
return operation, value, not value and NOT_A_NUMBER or operation.outcome
end
local function keep(operation, outcome)
local floor = math.max(tonumber(operation.floor), tonumber(redis.call('hget', operation.key, 'floor') or 0) or 0)
redis.call('hset', operation.key, operation.number, outcome, 'floor', floor)
redis.call('pexpire', operation.key, operation.ttl)
if redis.call('hlen', operation.key) % 16 == 0 then
for _, field in ipairs(redis.call('hkeys', operation.key)) do
if field ~= 'floor' and (tonumber(field) or 0) <= floor then
redis.call('hdel', operation.key, field)
end
end
end
return outcome
end
`
const endWithin = `local function endWithin(key, lease)
local left = redis.call('pttl', key)
if left < 0 or left > lease then
redis.call('pexpire', key, lease)
end
end
`
const fairLockAcquire = `local holds = tonumber(ARGV[2])
local isPlain = holds == 1 and ARGV[5] == '0' and (ARGV[15] or '') == ''
if isPlain and redis.call('exists', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]) == 0 then
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[3])
return 1
end
`
const fairLockAcquire8 = `local holder = ARGV[16] == '1' and holderAt(KEYS[1]) or redis.call('hgetall', KEYS[1])
if holder.err then return holder end
local mine = holder[1] == ARGV[1] or holder[3] and redis.call('hexists', KEYS[1], ARGV[1]) == 1
local superseded = isLate(KEYS[6], ARGV[4])
if superseded or (holds > 1 and not mine) then
touch(KEYS[1])
return superseded and 3 or 2
end
redis.call('setrange', KEYS[6], 0, '')
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[9])
local since, untilMs, left, answer = 0, 0, 0, 1
local waits = ARGV[10] ~= '-1'
if not mine and waits then
redis.call('zcard', KEYS[3])
since, untilMs, left = recordHeartbeat(q, ARGV[7], tonumber(ARGV[8]), ARGV[14])
end
local isFree = not holder[1]
q.isBack = tonumber(ARGV[10]) > 0
q.isSure = q.isBack
local needsFirst = isFree or not waits or redissonWaiters(q) ~= 0 or q.isBack and q.ours == 0
local first = not mine and needsFirst and head(q)
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
`
const fairLockEndHold7 = `local function endHold(lock, owner, note, openQueue, passed, inboxes, unlock, command)
local mine = redis.pcall('hexists', lock, owner) == 1
local q
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
`
const fairLockGrantToFirst3 = `local function behindFirst(q, client)
local ids, prefix = '', client .. ':'
local next = q.listed > 1 and redis.call('lindex', q.list, 1)
if not next or string.sub(next, 1, #prefix) ~= prefix then return ids end
for _, owner in ipairs(redis.call('lrange', q.list, 1, 31)) do
if string.sub(owner, 1, #prefix) ~= prefix then break end
ids = ids .. ',' .. string.sub(owner, #prefix + 1)
end
return ids
end
local function isUnsubscribed(waiter, inboxes)
if not string.find(waiter.marks or '', 'h', 1, true) then
return false
end
local heard = redis.pcall('pubsub', 'numsub', inboxOf(waiter.owner, inboxes))
return not heard.err and heard[2] == 0
end
local function isAwaited(q, waiter)
if waiter.untilMs <= q.now then return false end
if string.find(waiter.marks or '', 's', 1, true) then return true end
local server = waiter.since and redis.pcall('info', 'server')
local seconds = type(server) == 'string' and tonumber(string.match(server, 'uptime_in_seconds:(%d+)'))
return seconds and seconds * 1000 <= (q.span or GRACE_MS)
and math.floor(q.now / 1000) - seconds > math.floor(waiter.since / 1000)
end
local function passOverUnsubscribed(q, first, inboxes)
local unsubscribed = {}
for place, owner in ipairs(redis.call('lrange', q.list, 0, 999)) do
local waiter = waiterOf(q, owner)
local who = waiter.marks and clientOf(owner) or owner
if unsubscribed[who] == nil then
unsubscribed[who] = waiter.untilMs <= q.now or isUnsubscribed(waiter, inboxes)
if unsubscribed[who] and isAwaited(q, waiter) then break end
end
if not unsubscribed[who] then
for _, before in ipairs(place > 1 and redis.call('lrange', q.list, 0, place - 2) or {}) do
redis.call('hdel', q.heartbeats, clientOf(before))
remove(q, before)
end
return waiter
end
end
return first
end
local function firstSubscribed(q, first, inboxes)
if not q.notified then
q.notified = isUnsubscribed(first, inboxes) and passOverUnsubscribed(q, first, inboxes) or first
end
return q.notified
end
local function grantToFirst(q, lock, first, inboxes, unlock, command)
first = firstSubscribed(q, first, inboxes)
local owner, marks = first.owner, first.marks
local aliveMs = marks and math.max(1, math.ceil(first.untilMs - q.now)) or 0
local nonce = nonceIn(marks)
local inbox = inboxOf(owner, inboxes)
if nonce and string.find(marks, 'g', 1, true) and string.find(owner, '^[^:]+:%d+$') then
local passesOn = string.find(marks, 'p', 1, true)
if grant(lock, owner, first.untilMs, inbox, nonce, passesOn and behindFirst(q, clientOf(owner))) then
remove(q, owner)
return q.listed > 0 and aliveMs or 0
end
end
redis.call('zadd', q.scores, 'xx', 'lt', q.now + q.patience, owner)
if marks then
publish('publish', inbox, (nonce and '2:' or '') .. 'turn:' .. owner)
else
publish(command, unlock .. ':' .. owner, '0')
end
return q.listed > 1 and aliveMs or 0
end
`
const fairLockHead2 = `local function waiterOf(q, owner, isOurs)
if isOurs or redis.call('zscore', q.arrivals, owner) then
local untilMs, since, marks = livenessOf(q, clientOf(owner))
return { owner = owner, untilMs = untilMs, since = since, marks = marks }
end
return { owner = owner, untilMs = tonumber(redis.call('zscore', q.scores, owner) or 0) }
end
local function head(q)
local earliest = redis.call('zrange', q.arrivals, 0, 0)[1]
local owner = redis.call('lindex', q.list, 0)
if isBroken(q, earliest, owner) then
rebuild(q)
owner = redis.call('lindex', q.list, 0)
earliest = redis.call('zrange', q.arrivals, 0, 0)[1]
end
while owner do
local first = waiterOf(q, owner, owner == earliest)
if first.untilMs > q.now then
return rejoinsUntil(q) == 0 and first or nil
end
remove(q, owner)
owner = redis.call('lindex', q.list, 0)
end
end
local function tidy(q)
local hasRedissonWaiters = redissonWaiters(q) > 0
if hasRedissonWaiters then
redis.call('persist', q.list)
redis.call('persist', q.scores)
end
local key = hasRedissonWaiters and q.heartbeats or q.list
local keepMs = q.keepMs or q.isRebuilt and 2 * q.patience
if q.ours == 0 and rejoinsUntil(q) == 0 then
redis.call('del', q.heartbeats)
elseif keepMs and (q.isRebuilt or redis.call('pttl', key) < 0.75 * keepMs) then
redis.call('pexpire', q.arrivals, keepMs)
redis.call('pexpire', q.heartbeats, keepMs)
if not hasRedissonWaiters then
redis.call('pexpire', q.list, keepMs)
redis.call('pexpire', q.scores, keepMs)
end
end
end
`
const fairLockHeartbeat5 = `touch(KEYS[5])
local holder = holderAt(KEYS[1])
if holder.err then return holder end
local lease = holder[1] and redis.call('pttl', KEYS[1]) or -2
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[3])
local since, untilMs, left = recordHeartbeat(q, ARGV[1], tonumber(ARGV[2]), ARGV[7])
q.isSure = true
local first = head(q)
if lease == -2 and rejoinsUntil(q) > 0 then lease = rejoinsUntil(q) - q.now end
if q.isUnknown then untilMs, since = livenessOf(q, ARGV[1]) end
if redis.call('hlen', KEYS[5]) > 2 * q.ours + 16 then
for _, client in ipairs(redis.call('hkeys', KEYS[5])) do
if not string.find(client, ':', 1, true) and livenessOf(q, client) <= q.now then
redis.call('hdel', KEYS[5], client)
end
end
end
for _, owner in ipairs(redis.call('zrange', KEYS[4], 0, 99)) do
if tonumber(redis.call('zscore', KEYS[3], owner) or 0) > q.now + q.patience / 2 then
break
end
redis.call('zadd', KEYS[3], 'xx', 'gt', q.now + q.patience, owner)
end
if first and lease == -2 and clientOf(first.owner) ~= ARGV[1] then
grantToFirst(q, KEYS[1], first, ARGV[4], ARGV[5], ARGV[6])
end
local aliveMs = first and math.ceil(first.untilMs - q.now) or 0
local redissonCount = redissonWaiters(q)
tidy(q)
return {
lease, holder[1] or '', holder[2] or 0, first and first.owner or '', aliveMs, redissonCount, since, untilMs, left
}
`
const fairLockJoin = `local function enqueue(q, owner, lease, before)
local score = q.now + math.max(lease, 0)
local latest = q.listed > 0 and redis.call('zrange', q.scores, -1, -1, 'withscores')[2]
q.isRebuilt = q.isRebuilt or q.listed > 0 and not latest
if latest then
score = math.min(tonumber(latest), score + (q.listed + 1) * q.patience)
end
if redis.call('zadd', q.scores, 'nx', score + q.patience, owner) == 1 then
if not before or redis.call('linsert', q.list, 'before', before, owner) < 1 then
redis.call('rpush', q.list, owner)
end
q.listed = q.listed + 1
end
q.ours = q.ours + 1
end
local function join(q, owner, number, lease, most)
local known, rank
local isBack = number > 0
if most and number == 0 and q.listed >= most and not redis.call('zscore', q.arrivals, owner) then
head(q)
if q.listed >= most then
local first = tonumber(redis.call('zrange', q.arrivals, 0, 0, 'withscores')[2] or 0)
local waitedMs = first > 1e15 and math.floor(q.now - first / 1000) or 0
return -1 - math.max(0, waitedMs), q.listed + 1, redissonWaiters(q)
end
end
if number == 0 then
local newest = redis.call('zrange', q.arrivals, -1, -1, 'withscores')[2]
newest = tonumber(newest or 0)
number = math.max(newest < 9e15 and newest + 1 or 0, q.now * 1000)
if redis.call('zadd', q.arrivals, 'nx', number, owner) == 1 then
known, rank = number, q.ours
enqueue(q, owner, lease)
end
end
known = known or redis.call('zscore', q.arrivals, owner)
if known and isBack and tonumber(known) ~= number then
redis.call('zadd', q.arrivals, number, owner)
known = number
end
if not known and number > 0 then
local next = redis.call('zrangebyscore', q.arrivals, number, '+inf', 'limit', 0, 1)[1]
redis.call('zadd', q.arrivals, number, owner)
enqueue(q, owner, lease, next)
known = number
end
rank = rank or known and redis.call('zrank', q.arrivals, owner) or q.ours
return tonumber(known or 0), rank + redissonWaiters(q) + 1, redissonWaiters(q)
end
`
const fairLockLeavePassed = `local function leavePassed(q, lock, owners, isLost)
if not owners[1] then return end
for _, owner in ipairs(owners) do
q.listed = q.listed - redis.call('lrem', q.list, 1, owner)
end
redis.call('zrem', q.scores, unpack(owners))
q.ours = q.ours - redis.call('zrem', q.arrivals, unpack(owners))
if isLost then redis.pcall('hdel', lock, unpack(owners)) end
end
`
const fairLockLiveness3 = `local GRACE_MS = 2000
local function parseLiveness(text)
local untilMs, since, marks = string.match(text or '', '^(%d+) (%d+) ?(.*)$')
return tonumber(untilMs or 0), tonumber(since or 0), marks or ''
end
local function nonceIn(marks)
return string.match(marks or '', '2:(%x+)')
end
local function noticeOutage(q, heard, span)
local wasUnavailable = q.now - heard > 0.6 * span
if wasUnavailable then
for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
local untilMs, since, marks = parseLiveness(redis.call('hget', q.heartbeats, client))
if untilMs > heard and untilMs < q.now + span and not string.find(marks, 's', 1, true) then
redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %ss', q.now + span, since, marks))
end
end
end
if q.now - heard > 0.02 * span then
redis.call('hset', q.heartbeats, ':heard', q.now)
end
return wasUnavailable
end
local function grantGracePeriod(q, client)
if redis.call('hexists', q.heartbeats, client) == 0 then
local untilMs = q.now + (tonumber(q.span) or GRACE_MS)
redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f s', untilMs, q.now), ':heard', q.now)
q.isRebuilt = true
end
end
local function shiftToEarlierClock(q, heard, awaits)
local by = heard - q.now
for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
if not string.find(client, ':', 1, true) then
local untilMs, since, marks = parseLiveness(redis.call('hget', q.heartbeats, client))
redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', math.max(0, untilMs - by), since, marks))
end
end
redis.call('hset', q.heartbeats, ':heard', q.now, ':awaits', math.max(0, (tonumber(awaits) or 0) - by))
end
local function readFields(q, client)
local heard, span, awaits, liveness = unpack(redis.call('hmget', q.heartbeats, ':heard', ':span', ':awaits', client))
q.heard, q.span, q.awaits = tonumber(heard) or false, tonumber(span) or q.span, tonumber(awaits) or 0
if q.heard and q.heard > q.now then
shiftToEarlierClock(q, q.heard, awaits)
return readFields(q, client)
end
if q.awaits > q.now + 10 * (q.span or GRACE_MS) then q.awaits = 0 end
return liveness
end
local function plausibleLiveness(q, client, text)
local untilMs, since, marks = parseLiveness(text)
if untilMs > q.now + LONGEST_LIFE_MS then
redis.call('hdel', q.heartbeats, client)
untilMs = 0
end
return untilMs, since, marks
end
local function livenessOf(q, client)
if q.heard ~= nil then
return plausibleLiveness(q, client, redis.call('hget', q.heartbeats, client))
end
local liveness = readFields(q, client)
if q.heard and noticeOutage(q, q.heard, q.span or GRACE_MS) then
return livenessOf(q, client)
end
if not q.heard and q.ours > 0 then
for _, owner in ipairs(redis.call('zrange', q.arrivals, 0, -1)) do
grantGracePeriod(q, clientOf(owner))
end
return livenessOf(q, client)
end
return plausibleLiveness(q, client, liveness)
end
local function recordHeartbeat(q, client, forMs, marks)
q.span = forMs
local untilMs, since, before = livenessOf(q, client)
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
local function rejoinsUntil(q)
if q.heard == nil then
readFields(q, '')
end
return q.awaits > q.now and q.awaits or 0
end
`
const fairLockQueue2 = `local function queueAt(list, scores, arrivals, heartbeats, patience)
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
local function besideLock(work)
local isDone, result = pcall(work)
local failure = not isDone and (type(result) == 'table' and result.err or tostring(result))
if failure and not string.find(failure, 'WRONGTYPE', 1, true) then
error(redis.REDIS_VERSION_NUM and { err = failure } or result, 0)
end
return isDone and result or nil
end
`
const fairLockRelease = `local isPlain = ARGV[2] == '0' and ARGV[4] == '0' and not KEYS[7] and #ARGV <= 9
if isPlain and redis.pcall('hexists', KEYS[1], ARGV[1]) == 1 and redis.call('exists', KEYS[2], KEYS[4]) == 0 then
redis.call('del', KEYS[1])
return 1
end
`
const fairLockRelease3 = `local holds = tonumber(ARGV[2])
if refuseCopies(KEYS[6], holds, ARGV[3], ARGV[4], ARGV[5]) then return 3 end
if holds > 0 then
local mine = redis.pcall('hexists', KEYS[1], ARGV[1]) == 1
touch(KEYS[1])
if mine then
redis.call('hset', KEYS[1], ARGV[1], holds)
end
return mine and 2 or 0
end
local function openQueue()
return queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[6])
end
local passed = {}
for i = 1, #ARGV - 9 do passed[i] = ARGV[i + 9] end
return endHold(KEYS[1], ARGV[1], KEYS[7], openQueue, passed, ARGV[7], ARGV[8], ARGV[9])
`
const fairLockRename8 = `touch(KEYS[1])
local earlier = tonumber(ARGV[7])
local moved
for i = 1, earlier do
moved = moved or move(KEYS[1], ARGV[i + 7], ARGV[1])
end
if moved and KEYS[6] then
describe(KEYS[6], ARGV[1], 1, ARGV[2])
end
local isNamed = moved or redis.call('hexists', KEYS[1], ARGV[1]) == 1
besideLock(function()
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[3])
local passed = {}
for i = earlier + 1, #ARGV - 7 do passed[i - earlier] = ARGV[i + 7] end
leavePassed(q, KEYS[1], passed, not isNamed)
local first = not isNamed and isFree(KEYS[1]) and head(q)
if first then
grantToFirst(q, KEYS[1], first, ARGV[4], ARGV[5], ARGV[6])
end
tidy(q)
end)
return moved and 1 or isNamed and 2 or 0
`
const fairLockRepair2 = `local function askClientsToRejoin(q)
q.isUnknown = true
for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
if not string.find(client, ':', 1, true) then
local untilMs, _, marks = parseLiveness(redis.call('hget', q.heartbeats, client))
redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', untilMs, q.now, marks))
end
end
end
local function awaitRejoins(q)
rejoinsUntil(q)
if q.awaits == 0 and (q.heard or q.isBack) then
q.awaits = math.ceil(q.now + 0.55 * (tonumber(q.span) or GRACE_MS))
redis.call('hset', q.heartbeats, ':awaits', q.awaits, ':heard', q.now)
q.isRebuilt = true
askClientsToRejoin(q)
end
end
local function mergedOrder(q, ours, timeOf)
local order, isThere = {}, {}
for _, owner in ipairs(redis.call('lrange', q.list, 0, -1)) do
if not isThere[owner] then order[#order + 1] = owner end
isThere[owner] = true
end
local place = 1
for i = #ours, 1, -1 do
if isThere[ours[i]] then
for at, owner in ipairs(order) do
if owner == ours[i] then place = at break end
end
else
table.insert(order, place, ours[i])
isThere[ours[i]] = true
end
end
for _, owner in ipairs(redis.call('zrange', q.scores, 0, -1)) do
local at = 1
while not isThere[owner] and order[at] and (timeOf[order[at]] or 0) <= timeOf[owner] do
at = at + 1
end
if not isThere[owner] then table.insert(order, at, owner) end
end
return order
end
local function isOurs(owner)
return string.find(owner, '~', 1, true) ~= nil
end
local function rebuild(q)
local ours, timeOf, numberOf = redis.call('zrange', q.arrivals, 0, -1, 'withscores'), {}, {}
local owners = {}
for i = 1, #ours, 2 do
owners[#owners + 1] = ours[i]
numberOf[ours[i]] = tonumber(ours[i + 1])
end
local times = redis.call('zrange', q.scores, 0, -1, 'withscores')
for i = 1, #times, 2 do
timeOf[times[i]] = tonumber(times[i + 1])
end
local order = mergedOrder(q, owners, timeOf)
local areTimesLost = #times == 0 and (q.ours > 0 or q.isSure)
redis.call('del', q.list)
local time, number, isNumberLost = q.now + q.patience, 0, false
for _, owner in ipairs(order) do
redis.call('rpush', q.list, owner)
if not timeOf[owner] and (areTimesLost or isOurs(owner)) then redis.call('zadd', q.scores, time, owner) end
time = math.max(time, timeOf[owner] or 0)
if not numberOf[owner] and isOurs(owner) then
redis.call('zadd', q.arrivals, number + 1, owner)
numberOf[owner], isNumberLost = number + 1, true
grantGracePeriod(q, clientOf(owner))
end
number = numberOf[owner] or number
end
q.listed, q.ours = #order, redis.call('zcard', q.arrivals)
q.isRebuilt = q.isRebuilt or #order > 0
if isNumberLost then askClientsToRejoin(q) end
if q.ours == 0 then awaitRejoins(q) end
end
local function isBroken(q, earliest, owner)
if redis.call('zcard', q.scores) ~= q.listed then
return true
end
if earliest then
return owner ~= earliest and not redis.call('zscore', q.scores, earliest)
end
return q.hadOurs == 0 and (q.isSure or redis.call('exists', q.heartbeats) == 1)
end
`
const fencedLockAcquire2 = `local function withToken(mine)
local token, failure = assignToken(KEYS[4], mine, ARGV[8], ARGV[9])
if failure then
redis.call('del', KEYS[1], KEYS[3])
end
return failure or { token }
end
local isPlain = tonumber(ARGV[2]) == 1 and ARGV[5] == '0' and ARGV[7] == ''
if isPlain and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[3])
return withToken(false)
end
`
const fencedLockAcquire4 = `local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
local holder = mine and {} or redis.call('hgetall', KEYS[1])
local answer = take(KEYS[1], KEYS[2], ARGV, mine, not holder[1], mine)
if not answer then
return { redis.call('pttl', KEYS[1]), holder[1], holder[2], 0, noteOf(KEYS[3], holder[1]) }
end
if answer ~= 1 then return answer end
describe(KEYS[3], ARGV[1], tonumber(ARGV[2]), ARGV[7])
return withToken(mine)
`
const fencedLockAssignToken = `local function assignToken(counter, hasOne, source, ttl)
local token = hasOne and redis.call('get', counter)
if not token then
local counted = redis.pcall('incr', counter)
if type(counted) == 'table' or counted < 1 then
local failure = type(counted) == 'table' and counted.err or 'WRONGTYPE A token is never negative'
return nil, redis.error_reply(failure .. ' (key "' .. counter .. '")')
end
token = redis.call('get', counter)
if source == 'time' then
local time = redis.call('time')
local now = time[1] .. string.format('%06d', time[2])
if #now > #token or (#now == #token and now > token) then
redis.call('set', counter, now)
token = now
end
end
end
if ttl ~= '0' then
redis.call('pexpire', counter, ttl)
end
return token
end
`
const foreignLockHolder = `local function holderAt(key)
local holder = redis.pcall('hgetall', key)
if holder.err and redis.call('type', key).ok == 'string' then
return { redis.call('getrange', key, 0, 199), -1 }
end
return holder
end
`
const lockAcquire = `local isPlain = tonumber(ARGV[2]) == 1 and ARGV[5] == '0' and (ARGV[7] or '') == '' and not KEYS[4]
if isPlain and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[3])
return 1
end
`
const lockAcquire3 = `local mine = redis.call('hget', KEYS[1], ARGV[1])
local holder = mine and {} or redis.call('hgetall', KEYS[1])
local answer = take(KEYS[1], KEYS[2], ARGV, mine, not holder[1], mine)
if answer == 1 then
describe(KEYS[3], ARGV[1], tonumber(ARGV[2]), ARGV[7])
end
if answer and not KEYS[4] then return answer end
`
const lockAcquire4 = `local queue = KEYS[4] and type(redis.pcall('zcard', KEYS[4])) == 'number' and KEYS[4]
if answer == 1 and queue then leave(queue, ARGV[1]) end
if answer then return answer end
local untilMs = queue and enqueue(queue, ARGV[1], tonumber(ARGV[8]), ARGV[9]) or 0
return { redis.call('pttl', KEYS[1]), holder[1], holder[2], untilMs, noteOf(KEYS[3], holder[1]) }
`
const lockForget = `local function forget(key, owner)
local text = redis.pcall('get', key)
if type(text) == 'string' and string.sub(text, -#owner - 1) == ' ' .. owner then
redis.call('del', key)
end
end
`
const lockGrantToFirst3 = `local function firstAlive(queue, now)
while true do
local owner = redis.call('zrangebyscore', queue, 0, '+inf', 'limit', 0, 1)[1]
local untilMs = owner and -tonumber(redis.call('zscore', queue, 'alive:' .. owner) or 0)
if not owner or untilMs > now and untilMs <= now + LONGEST_LIFE_MS and string.find(owner, '^[^:]+:%d+$') then
return owner, untilMs
end
leave(queue, owner)
end
end
local function extraListeners(queue, now, command, channel, exempt, inbox)
local heard = command == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', channel)
or redis.pcall('pubsub', 'numsub', channel, inbox)
local queued = redis.call('zcount', queue, string.format('%.0f', -now - LONGEST_LIFE_MS), string.format('(%.0f', -now))
local extra = not heard.err and heard[4] ~= 0 and heard[2] - queued - exempt or -1
return extra >= 0 and extra or nil
end
local function mayGrantToFirst(queue, now, extra)
local mark = redis.call('zscore', queue, 'left-free')
if not mark then
return extra == 0
end
local leftFree = -tonumber(mark)
if leftFree > now then
return false
end
return extra == 0 and leftFree > now - LONGEST_GRANTING_MS
or redis.call('zcount', queue, 0, string.format('(%.0f', leftFree * 1000)) > 0
end
local function grantToFirst(queue, lock, command, channel, exempt, inboxPrefix)
local time = redis.call('time')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local first, untilMs = firstAlive(queue, now)
if not first or endAfterSetBack(queue, now) then
redis.call('del', queue)
return nil
end
local nonce = string.match(redis.call('zscore', queue, '2:' .. first) or '', '^-(%d+)$')
local inbox = inboxOf(first, inboxPrefix)
local extra = nonce and exempt and extraListeners(queue, now, command, channel, exempt, inbox)
if extra and mayGrantToFirst(queue, now, extra) then
redis.call('zadd', queue, 'nx', string.format('%.0f', -now), 'left-free')
if grant(lock, first, untilMs, inbox, nonce) then
leave(queue, first)
return untilMs - now
end
end
redis.call('zadd', queue, string.format('%.0f', -now), 'left-free')
local longestMs = -tonumber(redis.call('zrange', queue, 0, 0, 'withscores')[2]) - now
redis.call('pexpire', queue, math.max(1, math.min(longestMs, LONGEST_LIFE_MS)))
return nil
end
`
const lockGrant = `local function inboxOf(owner, prefix)
return prefix .. (string.match(owner, '^(.*):') or owner)
end
`
const lockGrant3 = `local function grant(lock, owner, untilMs, inbox, nonce, behind)
local untilText = string.format('%.0f', untilMs)
local told = untilText .. ':' .. owner .. (behind or '')
redis.call('hset', lock, owner, 1)
redis.call('pexpireat', lock, untilText)
local isTold = publish('publish', inbox, '2:grant:' .. redis.sha1hex(nonce .. told .. nonce) .. ':' .. told)
if not isTold then
redis.call('del', lock)
end
return isTold
end
`
const lockIsFree = `local function isFree(lock)
local fields = redis.call('exists', lock) == 1 and redis.pcall('hkeys', lock)
return not fields or #fields == 0 and not fields.err
end
`
const lockMove = `local function move(lock, from, to)
local holds = redis.call('hget', lock, from)
if holds then
redis.call('hset', lock, to, holds)
redis.call('hdel', lock, from)
end
return holds
end
`
const lockNote = `local function describe(key, owner, holds, wanted)
local ttl, traceparent = string.match(wanted or '', '^(%d+) (%S+)$')
local known = ttl and redis.pcall('get', key)
if not ttl or type(known) == 'table' then
return
end
if known and string.sub(known, -#owner - 1) == ' ' .. owner then
redis.call('pexpire', key, math.max(redis.call('pttl', key), tonumber(ttl)))
elseif holds == 1 then
local time = redis.call('time')
local at = time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))
redis.call('set', key, at .. ' ' .. traceparent .. ' ' .. owner, 'px', ttl)
end
end
local function noteOf(key, owner)
local text = key and redis.pcall('get', key)
if type(text) ~= 'string' or string.sub(text, -#owner - 1) ~= ' ' .. owner then
return nil
end
local at, traceparent = string.match(text, '^(%d+) (%S+) ')
if at and #at <= 15 and #traceparent <= 200 then
local time = redis.call('time')
return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - tonumber(at), traceparent
end
end
`
const lockQueue = `local LONGEST_GRANTING_MS = 100
local MARK_TTL_MS = 120000
local function leave(queue, owner)
if redis.call('zrem', queue, owner, 'alive:' .. owner, '2:' .. owner) > 0 and redis.call('zcount', queue, 0, '+inf') == 0 then
redis.call('zrem', queue, 'heard')
redis.call('pexpire', queue, MARK_TTL_MS)
end
end
local function endAfterSetBack(queue, now)
local isOver = -tonumber(redis.call('zscore', queue, 'heard') or 0) > now
if isOver then
redis.call('del', queue)
end
return isOver
end
local function enqueue(queue, owner, forMs, nonce)
local time = redis.call('time')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
endAfterSetBack(queue, now)
redis.call('zadd', queue, 'nx', time[1] .. string.format('%06d', time[2]), owner)
redis.call('zadd', queue, string.format('%.0f', -now - forMs), 'alive:' .. owner, '-' .. nonce, '2:' .. owner,
string.format('%.0f', -now), 'heard')
redis.call('pexpire', queue, math.max(redis.call('pttl', queue), forMs))
return now + forMs
end
`
const lockRelease = `local holds = tonumber(ARGV[2])
local isPlain = holds == 0 and ARGV[4] == '0' and not KEYS[4]
local removed = isPlain and redis.call('hdel', KEYS[1], ARGV[1])
local inLine = isPlain and redis.pcall('zcard', KEYS[2])
if inLine == 1 and removed == 1 then inLine = redis.call('del', KEYS[2]) - 1 end
if inLine == 0 then
if removed == 0 then return 0 end
if ARGV[10] then return 4 end
if ARGV[7] == '' then return 1 end
return 4 + (tonumber(redis.pcall(ARGV[7], ARGV[6], '0')) or 0)
end
`
const lockRelease3 = `if not isPlain then
if (holds > 0 or ARGV[4] ~= '0') and refuseCopies(KEYS[3], holds, ARGV[3], ARGV[4], ARGV[5]) then
return 3
end
removed = redis.call('hdel', KEYS[1], holds == 0 and ARGV[1] or '')
if holds > 0 then
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
return 0
end
redis.call('hset', KEYS[1], ARGV[1], holds)
return 2
end
if KEYS[4] then
forget(KEYS[4], ARGV[1])
end
inLine = redis.pcall('zcard', KEYS[2])
end
local mine = removed == 1
`
const lockRelease4 = `if type(inLine) == 'number' and inLine > 0 then
leave(KEYS[2], ARGV[1])
local grantedForMs = mine and grantToFirst(KEYS[2], KEYS[1], ARGV[7], ARGV[6], tonumber(ARGV[8]), ARGV[9])
if grantedForMs then
return -grantedForMs
end
if not mine and redis.call('exists', KEYS[1]) == 0 and redis.call('zcount', KEYS[2], 0, '+inf') == 0 then
redis.call('del', KEYS[2])
end
end
if not mine then
return 0
end
if ARGV[10] and inLine == 0 then
return 4
end
if ARGV[7] ~= '' then
return 4 + (publish(ARGV[7], ARGV[6], '0') or 0)
end
return 1
`
const lockRename3 = `touch(KEYS[1])
local moved
for i = 1, #ARGV - 2 do
moved = moved or move(KEYS[1], ARGV[i + 2], ARGV[1])
end
if not moved then
return redis.call('hexists', KEYS[1], ARGV[1])
end
if not KEYS[2] then
return 1
end
`
const lockRename4 = `describe(KEYS[2], ARGV[1], 1, ARGV[2])
return 1
`
const lockShape = `local MOST_FIELDS = 1000
local LONGEST_OWNER = 1000
local NO_LOCK = 'WRONGTYPE The key is a hash of something else'
local function looksLikeOwner(field)
return string.find(field, '^[^:]+:%d+$') or string.find(field, '^[^:]+:%d+:write$')
end
local function fieldsOfLock(key, size, isAsked)
local isMarked = size > 1 and (isAsked or size <= MOST_FIELDS)
local isReadWrite = isMarked and string.find(redis.call('hget', key, 'mode') or '', '^[rw]')
if size > 1 and not isReadWrite then
return isAsked and size <= MOST_FIELDS and #redis.call('hkeys', key) == 0 and {} or nil
end
for _, field in ipairs(redis.call('hkeys', key)) do
local isOwner = looksLikeOwner(field) and (isAsked or #field <= LONGEST_OWNER)
if not isOwner and not ((isReadWrite or isAsked) and field == 'mode') then return nil end
end
local fields = redis.call('hgetall', key)
for i = 2, #fields, 2 do
local isMode = fields[i - 1] == 'mode'
if isMode and fields[i] ~= 'read' and fields[i] ~= 'write' or not isMode and not string.find(fields[i], '^[1-9]%d*$') then
return nil
end
end
return (isAsked or fields[1]) and fields, isReadWrite
end
`
const lockShown = `local function isShown(owner, named)
for _, holder in ipairs(named) do
local beginning = string.match(holder, '^(.+)\\226\\128\\166$')
if owner == holder or (beginning ~= nil and string.sub(owner, 1, #beginning) == beginning) then
return true
end
end
return #named == 0
end
local function areShown(owners, named)
for _, owner in ipairs(owners) do
if not isShown(owner, named) then
return false
end
end
return true
end
`
const lockTake2 = `local function take(lock, tombstone, argv, mine, isOpen, isHeld, mode)
local holds, isSuperseded = tonumber(argv[2]), isLate(tombstone, argv[4])
if isSuperseded or not mine and not (isOpen and holds == 1) then
redis.call('hdel', lock, '')
return isSuperseded and 3 or holds > 1 and 2 or nil
end
if mode then
redis.call('hset', lock, 'mode', mode, argv[1], holds)
else
redis.call('hset', lock, argv[1], holds)
end
redis.call('pexpire', lock, isHeld and math.max(redis.call('pttl', lock), tonumber(argv[3])) or argv[3])
if argv[5] ~= '0' then
redis.call('set', tombstone, argv[5], 'px', argv[6])
end
return 1
end
`
const permitSemaphorePermits3 = `local function raw(id)
return (string.gsub(id, '%x%x', function(byte)
return string.char(tonumber(byte, 16))
end))
end
local function release(permits, count)
if count > 0 then
publish(permits.publish, permits.channel, redis.call('incrby', permits.counter, count))
end
end
local function reclaim(permits)
release(permits, redis.call('zremrangebyscore', permits.timeouts, '-inf', permits.now))
end
`
const publish = `local function publish(command, channel, message)
return tonumber(redis.pcall(command, channel, message))
end
`
const readLockAcquire6 = `local mode = redis.call('hget', KEYS[1], 'mode')
local mine = mode and redis.call('hexists', KEYS[1], ARGV[1]) == 1
local open = mode == 'read' or not mode and isFree(KEYS[1])
if open and not mine and ARGV[8] == '1' then
open = not writersWait(KEYS[3])
end
local joins = mode == 'write' and ARGV[7] ~= '' and redis.call('hexists', KEYS[1], ARGV[7]) == 1
local answer = take(KEYS[1], KEYS[2], ARGV, mine, open or joins, mode, mode or 'read')
for i = 1, answer == 1 and tonumber(ARGV[2]) or 0 do
if redis.call('pttl', KEYS[4] .. ':' .. i) < tonumber(ARGV[3]) then
redis.call('set', KEYS[4] .. ':' .. i, '1', 'px', ARGV[3])
end
end
return answer or heldBy(KEYS[1], KEYS[5])
`
const readLockHolder = `local function heldBy(lock, note)
local fields = redis.call('hgetall', lock)
local owner, holds, owners = '', 0, 0
for i = 1, #fields, 2 do
if fields[i] ~= 'mode' then
owners = owners + 1
if owners == 1 or string.sub(fields[i], -6) == ':write' then
owner, holds = fields[i], fields[i + 1]
end
end
end
return { redis.call('pttl', lock), owner, holds, owners, noteOf(note, owner) }
end
`
const readLockReaders = `local function longestOfReaders(lock, before, behind)
local longest = 0
local fields = redis.call('hgetall', lock)
for i = 1, #fields, 2 do
for n = 1, tonumber(fields[i + 1]) or 0 do
local key = before .. fields[i] .. behind .. n
longest = math.max(longest, redis.call('pttl', key))
end
end
return longest
end
local function leaveToReaders(lock, before, behind)
local longest = longestOfReaders(lock, before, behind)
if longest > 0 then
redis.call('pexpire', lock, longest)
else
redis.call('del', lock)
end
return longest > 0
end
`
const readLockRelease5 = `local holds = tonumber(ARGV[2])
if refuseCopies(KEYS[2], holds, ARGV[3], ARGV[4], ARGV[5]) then
return 3
end
touch(KEYS[1])
local mine = tonumber(redis.call('hget', KEYS[1], ARGV[1]) or 0)
if mine == 0 then
return 0
end
for i = holds + 1, mine do
redis.call('del', KEYS[3] .. ':' .. i)
end
if holds > 0 then
redis.call('hset', KEYS[1], ARGV[1], holds)
return 2
end
redis.call('hdel', KEYS[1], ARGV[1])
if redis.call('hget', KEYS[1], 'mode') == 'write' then
return 1
end
if not leaveToReaders(KEYS[1], KEYS[4], ARGV[8]) then
publish(ARGV[7], ARGV[6], '0')
end
return 1
`
const readLockWakeAll2 = `local function wakeAll(command, channel)
local heard = publish(command, channel, '1')
publish(command, channel, '00')
return heard or 0
end
`
const readLockWriters3 = `local function writersAt(writers)
local now = clock()
return redis.call('exists', writers) == 1 and redis.pcall('zcount', writers, now, now + LONGEST_LIFE_MS) or 0
end
local function writersWait(writers)
local waiting = writersAt(writers)
return type(waiting) == 'number' and waiting > 0
end
`
const tombstone = `local function isLate(tombstone, sequence)
local through = tonumber(redis.call('get', tombstone) or '')
return through ~= nil and tonumber(sequence) <= through
end
local function refuseCopies(tombstone, holds, sequence, through, ttl)
local isCopy = holds > 0 and isLate(tombstone, sequence)
if isCopy or through ~= '0' then
redis.call('pexpire', tombstone, ttl)
end
if not isCopy and through ~= '0' then
redis.call('set', tombstone, through, 'px', ttl)
end
return isCopy
end
`
const touch = `local function touch(key)
redis.call('hdel', key, '')
end
`
const writeLockAcquire6 = `local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
local answer = take(KEYS[1], KEYS[2], ARGV, mine, not mine and isFree(KEYS[1]), mine, 'write')
if answer == 1 then
redis.pcall('zrem', KEYS[3], ARGV[1])
describe(KEYS[4], ARGV[1], tonumber(ARGV[2]), ARGV[8])
end
if answer then return answer end
if ARGV[7] ~= '0' then
local queued = redis.pcall('zadd', KEYS[3], clock() + ARGV[7], ARGV[1])
if type(queued) == 'number' then
redis.call('pexpire', KEYS[3], math.max(redis.call('pttl', KEYS[3]), tonumber(ARGV[7])))
end
end
return heldBy(KEYS[1], KEYS[4])
`
const writeLockRelease7 = `local holds = tonumber(ARGV[2])
if refuseCopies(KEYS[2], holds, ARGV[3], ARGV[4], ARGV[5]) then
return 3
end
touch(KEYS[1])
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if holds > 0 then
if mine then
redis.call('hset', KEYS[1], ARGV[1], holds)
end
return mine and 2 or 0
end
if KEYS[5] then
forget(KEYS[5], ARGV[1])
end
local left = redis.pcall('zrem', KEYS[3], ARGV[1])
if not mine then
if left == 1 and not writersWait(KEYS[3]) then
wakeAll(ARGV[7], ARGV[6])
end
return 0
end
redis.call('hdel', KEYS[1], ARGV[1])
if leaveToReaders(KEYS[1], KEYS[4], ARGV[8]) then
redis.call('hset', KEYS[1], 'mode', 'read')
end
if type(left) == 'number' then
redis.call('del', KEYS[3])
end
return 4 + wakeAll(ARGV[7], ARGV[6])
`

/** For the scripts of entries. */
export const luaParts = {
  clock,
  fairLockEndHold7,
  fairLockGrantToFirst3,
  fairLockHead2,
  fairLockLeavePassed,
  fairLockLiveness3,
  fairLockQueue2,
  fairLockRepair2,
  fencedLockAssignToken,
  lockForget,
  lockGrant,
  lockGrant3,
  lockIsFree,
  lockNote,
  lockShape,
  publish,
  tombstone,
  touch,
}

export const luaSources = {
  'batch': `-- Holdfast: batch
${tombstone}${clock}local LONGEST_LIFE_MS = 120000
${lockNote}${lockIsFree}${touch}${publish}${lockForget}${lockTake2}${lockGrant}${lockGrant3}${lockMove}local function transitionsOf(object)
if object == 'fair-lock' then
${fairLockQueue2}${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${fairLockJoin}${fairLockGrantToFirst3}${foreignLockHolder}${fairLockLeavePassed}${fairLockEndHold7}local function acquireFairLock(KEYS, ARGV)
${fairLockAcquire}${fairLockAcquire8}end
local function releaseFairLock(KEYS, ARGV)
${fairLockRelease}${fairLockRelease3}end
local function heartbeatFairLock(KEYS, ARGV)
${fairLockHeartbeat5}end
local function renameFairLock(KEYS, ARGV)
${fairLockRename8}end
return {
['fair-lock/acquire'] = acquireFairLock,
['fair-lock/release'] = releaseFairLock,
['fair-lock/heartbeat'] = heartbeatFairLock,
['fair-lock/rename'] = renameFairLock,
}
elseif object == 'read-lock' or object == 'write-lock' then
${readLockWriters3}${readLockHolder}${readLockReaders}${readLockWakeAll2}local function acquireReadLock(KEYS, ARGV)
${readLockAcquire6}end
local function releaseReadLock(KEYS, ARGV)
${readLockRelease5}end
local function acquireWriteLock(KEYS, ARGV)
${writeLockAcquire6}end
local function releaseWriteLock(KEYS, ARGV)
${writeLockRelease7}end
return {
['read-lock/acquire'] = acquireReadLock,
['read-lock/release'] = releaseReadLock,
['write-lock/acquire'] = acquireWriteLock,
['write-lock/release'] = releaseWriteLock,
}
end
${lockQueue}${fencedLockAssignToken}${lockGrantToFirst3}local function acquireLock(KEYS, ARGV)
${lockAcquire}${lockAcquire3}${lockAcquire4}end
local function acquireFencedLock(KEYS, ARGV)
${fencedLockAcquire2}${fencedLockAcquire4}end
local function releaseLock(KEYS, ARGV)
${lockRelease}${lockRelease3}${lockRelease4}end
local function renameLock(KEYS, ARGV)
${lockRename3}${lockRename4}end
return {
['lock/acquire'] = acquireLock,
['fenced-lock/acquire'] = acquireFencedLock,
['lock/release'] = releaseLock,
['lock/rename'] = renameLock,
}
end
redis.call('setrange', KEYS[1], 0, '')
local forms, values = unpack(cjson.decode(ARGV[1]))
local known = {}
for _, form in ipairs(forms) do
local object = string.match(form[1], '^[^/]+')
known[object] = known[object] or transitionsOf(object)
form[1] = known[object][form[1]]
form[5] = {}
end
local answers = {}
local item, key, value = 0, 1, 1
while values[value] do
local run, count, argv, places, keys = unpack(forms[values[value]])
for i = 1, #places do
argv[places[i]] = values[value + i]
end
value = value + 1 + #places
for i = 1, count do
keys[i] = KEYS[key + 1]
key = key + 1
end
local ran, answer = pcall(run, keys, argv)
if not ran then
answer = { err = type(answer) == 'table' and answer.err or answer }
end
item = item + 1
answers[item] = answer
end
return answers
`,
  'counter/cancel': `-- Holdfast: counter/cancel
${counterNumber}${counterOperation2}${touch}${publish}touch(KEYS[2])
local operation = begin(KEYS[2], ARGV[1], ARGV[2], ARGV[3])
local back = math.max(operation.outcome or 0, 0) * tonumber(ARGV[4])
if back > 0 and redis.call('exists', KEYS[1]) == 1 then
publish(ARGV[6], ARGV[5], redis.call('incrby', KEYS[1], back))
else
back = 0
end
keep(operation, -1)
return back
`,
  'counter/get': `-- Holdfast: counter/get
${touch}${counterNumber}touch(KEYS[2])
return numberAt(KEYS[1]) or NOT_A_NUMBER
`,
  'counter/try-set': `-- Holdfast: counter/try-set
${counterNumber}${counterOperation2}${publish}local operation, _, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if redis.call('exists', KEYS[1]) == 1 then
return keep(operation, 0)
end
redis.call('set', KEYS[1], ARGV[4])
if ARGV[5] ~= '0' then
redis.call('pexpire', KEYS[1], ARGV[5])
end
publish(ARGV[7], ARGV[6], ARGV[8])
return keep(operation, 1)
`,
  'fair-lock/acquire': `-- Holdfast: fair-lock/acquire
${fairLockAcquire}${touch}${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${fairLockJoin}${publish}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}${tombstone}${lockNote}${foreignLockHolder}${fairLockAcquire8}`,
  'fair-lock/force-release': `-- Holdfast: fair-lock/force-release
${touch}${publish}${lockShown}${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}local owners = redis.call('hkeys', KEYS[1])
local named = {}
for i = 1, #ARGV - 4 do named[i] = ARGV[i + 4] end
if not areShown(owners, named) then
touch(KEYS[1])
return -1
end
redis.call('del', KEYS[1], KEYS[6])
besideLock(function()
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1])
local first = head(q)
if first then
grantToFirst(q, KEYS[1], first, ARGV[2], ARGV[3], ARGV[4])
end
tidy(q)
end)
for _, owner in ipairs(owners) do
publish('publish', ARGV[2] .. clientOf(owner), owner)
end
return #owners
`,
  'fair-lock/heartbeat': `-- Holdfast: fair-lock/heartbeat
${touch}${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${publish}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}${foreignLockHolder}${fairLockHeartbeat5}`,
  'fair-lock/release': `-- Holdfast: fair-lock/release
${fairLockRelease}${touch}${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${publish}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}${fairLockLeavePassed}${lockForget}${lockIsFree}${fairLockEndHold7}${tombstone}${fairLockRelease3}`,
  'fair-lock/rename': `-- Holdfast: fair-lock/rename
${touch}${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${publish}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}${fairLockLeavePassed}${lockMove}${lockIsFree}${lockNote}${fairLockRename8}`,
  'fair-lock/withdraw': `-- Holdfast: fair-lock/withdraw
${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${publish}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}${lockIsFree}local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[2])
remove(q, ARGV[1])
local first = isFree(KEYS[1]) and head(q)
local usedWithinMs = first and grantToFirst(q, KEYS[1], first, ARGV[3], ARGV[4], ARGV[5]) or 0
tidy(q)
return usedWithinMs
`,
  'fenced-lock/acquire': `-- Holdfast: fenced-lock/acquire
${fencedLockAssignToken}${fencedLockAcquire2}${tombstone}${lockTake2}${lockNote}${fencedLockAcquire4}`,
  'fenced-lock/get-token': `-- Holdfast: fenced-lock/get-token
${touch}touch(KEYS[1])
return redis.call('get', KEYS[2])
`,
  'fenced-value/set': `-- Holdfast: fenced-value/set
${touch}local kept = redis.call('hmget', KEYS[1], 'token', 'writer', 'sequence')
local isOurs = kept[1] and kept[2] and kept[3] and string.match(kept[1], '^%d+$')
if not isOurs and redis.call('exists', KEYS[1]) == 1 then
return redis.error_reply('WRONGTYPE The hash at this key was not written by fencedSet')
end
local highest = kept[1] or '0'
local token = ARGV[1]
local isStale = #token < #highest or (#token == #highest and token < highest)
local isCopy = token == highest and ARGV[4] == kept[2] and tonumber(ARGV[5]) <= tonumber(kept[3])
if isStale or isCopy then
touch(KEYS[1])
return { isStale and 0 or 1, highest }
end
redis.call('hset', KEYS[1], 'token', token, 'value', ARGV[2], 'writer', ARGV[4], 'sequence', ARGV[5])
if ARGV[3] ~= '0' then
redis.call('pexpire', KEYS[1], ARGV[3])
else
redis.call('persist', KEYS[1])
end
return { 1, token }
`,
  'foreign-lock/leave': `-- Holdfast: foreign-lock/leave
${lockQueue}if type(redis.pcall('zscore', KEYS[1], ARGV[1])) ~= 'string' then
return 0
end
leave(KEYS[1], ARGV[1])
return 1
`,
  'foreign-lock/look': `-- Holdfast: foreign-lock/look
redis.call('del', KEYS[2])
local type = redis.call('type', KEYS[1]).ok
if type == 'string' then
return { redis.call('pttl', KEYS[1]), redis.call('getrange', KEYS[1], 0, 199) }
end
return (type == 'none' or type == 'hash') and 0 or 1
`,
  'latch/count-down': `-- Holdfast: latch/count-down
${counterNumber}${counterOperation2}${touch}${publish}touch(KEYS[2])
local operation, count, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if redis.call('exists', KEYS[1]) == 0 then
return keep(operation, 0)
end
if count > 1 then
redis.call('decr', KEYS[1])
else
redis.call('del', KEYS[1])
end
if count == 1 then
publish(ARGV[5], ARGV[4], '0')
end
return keep(operation, 1)
`,
  'latch/delete': `-- Holdfast: latch/delete
${counterNumber}${counterOperation2}${touch}${publish}touch(KEYS[2])
local operation, _, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if redis.call('del', KEYS[1]) == 0 then
return keep(operation, 0)
end
publish(ARGV[5], ARGV[4], '1')
return keep(operation, 1)
`,
  'lock/acquire': `-- Holdfast: lock/acquire
${lockAcquire}${tombstone}${lockTake2}${lockNote}${lockAcquire3}${lockQueue}${lockAcquire4}`,
  'lock/announce': `-- Holdfast: lock/announce
${touch}${lockIsFree}${publish}touch(KEYS[1])
if not isFree(KEYS[1]) then
return 0
end
return publish(ARGV[2], ARGV[1], '0') and 1 or 2
`,
  'lock/explain': `-- Holdfast: lock/explain
${lockNote}${clock}local LONGEST_LIFE_MS = 120000
${readLockWriters3}${lockShape}redis.call('del', KEYS[6])
local ttl = redis.call('pttl', KEYS[1])
local isAsked = ARGV[1] == '0'
if ttl == -2 or (ttl <= 0 and not isAsked) then
return 0
end
local isString = ARGV[2] == '1' and redis.call('type', KEYS[1]).ok == 'string'
local fields = isString and { redis.call('getrange', KEYS[1], 0, 199), '-1' }
or fieldsOfLock(KEYS[1], redis.call('hlen', KEYS[1]), isAsked)
if not fields then
return isAsked and redis.error_reply(NO_LOCK) or 0
end
local token, inLine, writers = redis.pcall('get', KEYS[3]), redis.pcall('llen', KEYS[4]), writersAt(KEYS[5])
if not fields[1] then return 0 end
local answer = {
ttl,
fields,
type(token) == 'string' and token or '',
type(inLine) == 'number' and inLine or 0,
type(writers) == 'number' and writers or 0,
}
local note = redis.pcall('get', KEYS[2])
local noted = type(note) == 'string' and string.match(note, '^%d+ %S+ (.+)$')
if noted and not isString and redis.call('hexists', KEYS[1], noted) == 1 then
answer[6], answer[7], answer[8] = noted, noteOf(KEYS[2], noted)
end
return answer
`,
  'lock/force-release': `-- Holdfast: lock/force-release
${touch}${publish}${lockShown}local owners = redis.call('hkeys', KEYS[1])
local named = {}
for i = 1, #ARGV - 3 do named[i] = ARGV[i + 3] end
if not areShown(owners, named) then
touch(KEYS[1])
return -1
end
redis.call('del', KEYS[1], KEYS[2])
if #owners == 0 then
return 0
end
if ARGV[2] ~= '' then
publish(ARGV[2], ARGV[1], '0')
end
for _, owner in ipairs(owners) do
local client = string.match(owner, '^(.-):')
if client then
publish('publish', ARGV[3] .. client, owner)
end
end
return #owners
`,
  'lock/inspect': `-- Holdfast: lock/inspect
${touch}touch(KEYS[1])
local answer = redis.call('hgetall', KEYS[1])
table.insert(answer, 1, answer[1] and redis.call('pttl', KEYS[1]) or -2)
return answer
`,
  'lock/listeners': `-- Holdfast: lock/listeners
if redis.call('exists', KEYS[1]) == 0 then
return 0
end
local heard = ARGV[2] == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', ARGV[1])
or redis.pcall('pubsub', 'numsub', ARGV[1])
return tonumber(heard[2]) or 0
`,
  'lock/release': `-- Holdfast: lock/release
${lockRelease}${tombstone}${lockForget}${lockRelease3}${lockQueue}${lockGrant}local LONGEST_LIFE_MS = 120000
${publish}${lockGrant3}${lockGrantToFirst3}${lockRelease4}`,
  'lock/rename': `-- Holdfast: lock/rename
${touch}${lockMove}${lockRename3}${lockNote}${lockRename4}`,
  'lock/renew': `-- Holdfast: lock/renew
${clock}local lease = tonumber(ARGV[1])
local endsAt = string.format('%.0f', clock() + lease)
local compares = redis.REDIS_VERSION_NUM
local function prolong(key)
redis.call('pexpire', key, math.max(redis.call('pttl', key), lease))
end
local call, try, lost = redis.call, redis.pcall, {}
for i, key in ipairs(KEYS) do
if try('hexists', key, ARGV[i + 1]) == 1 then
if not compares or call('pexpireat', key, endsAt, 'gt') == 0 then
prolong(key)
end
else
local touched = try('hdel', key, '')
if type(touched) == 'table' and touched.err and string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
return touched
end
lost[#lost + 1] = i
end
end
return lost
`,
  'lock/shorten': `-- Holdfast: lock/shorten
${touch}${tombstone}${endWithin}if refuseCopies(KEYS[2], 1, ARGV[3], ARGV[4], ARGV[5]) then
return 2
end
touch(KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
return 0
end
local lease = tonumber(ARGV[2])
if lease then
endWithin(KEYS[1], lease)
end
return 1
`,
  'permit-semaphore/acquire': `-- Holdfast: permit-semaphore/acquire
${counterNumber}${counterOperation2}local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }
local operation = begin(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local free = numberAt(KEYS[1])
if not free then
return NOT_A_NUMBER
end
local ended = redis.call('zcount', KEYS[2], '-inf', permits.now)
local ttl = redis.call('pttl', KEYS[1])
local outcome = operation.outcome
if not outcome then
local wanted = #ARGV - 6
outcome = free + ended >= wanted and 1 or 0
if outcome == 1 then
local ends = ARGV[6] == '0' and FOREVER or permits.now + tonumber(ARGV[6])
for i = 1, wanted do
redis.call('zadd', KEYS[2], ends, raw(ARGV[i + 6]))
end
reclaim(permits)
redis.call('decrby', KEYS[1], wanted)
if ttl > 0 then
redis.call('pexpire', KEYS[2], ttl)
else
redis.call('persist', KEYS[2])
end
else
reclaim(permits)
end
keep(operation, outcome)
end
local first = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
local wait = first and tonumber(first) < FOREVER and math.max(tonumber(first) - permits.now, 0) or -1
return { outcome, numberAt(KEYS[1]), wait, ttl }
`,
  'permit-semaphore/cancel': `-- Holdfast: permit-semaphore/cancel
${counterNumber}${counterOperation2}${touch}local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5] }
touch(KEYS[3])
local operation = begin(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local count = 0
if operation.outcome == 1 then
for i = 1, #ARGV - 5 do
count = count + redis.call('zrem', KEYS[2], raw(ARGV[i + 5]))
end
release(permits, count)
end
keep(operation, -1)
return count
`,
  'permit-semaphore/count': `-- Holdfast: permit-semaphore/count
${counterNumber}local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[1], publish = ARGV[2], now = clock() }
if not numberAt(KEYS[1]) then
return NOT_A_NUMBER
end
reclaim(permits)
return { numberAt(KEYS[1]), redis.call('zcard', KEYS[2]) }
`,
  'permit-semaphore/release': `-- Holdfast: permit-semaphore/release
${counterNumber}${counterOperation2}${touch}local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }
touch(KEYS[3])
local operation, _, over = beginOn(KEYS[1], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
reclaim(permits)
local missing = 0
for i = 1, #ARGV - 5 do
if not redis.call('zscore', KEYS[2], raw(ARGV[i + 5])) then
missing = missing + 1
end
end
local count = 0
if missing == 0 then
for i = 1, #ARGV - 5 do
count = count + redis.call('zrem', KEYS[2], raw(ARGV[i + 5]))
end
release(permits, count)
end
return keep(operation, count)
`,
  'permit-semaphore/renew': `-- Holdfast: permit-semaphore/renew
local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}redis.call('zrem', KEYS[1], '')
local now, id = clock(), raw(ARGV[2])
local ends = tonumber(redis.call('zscore', KEYS[1], id) or 0)
if ends <= now then
return 0
end
local renewed = now + tonumber(ARGV[1])
if renewed > ends then
redis.call('zadd', KEYS[1], renewed, id)
return renewed - now
end
redis.call('zadd', KEYS[1], ends, '')
redis.call('zrem', KEYS[1], '')
return ends - now
`,
  'permit-semaphore/set': `-- Holdfast: permit-semaphore/set
${counterNumber}${counterOperation2}local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}local operation, _, over = beginOn(KEYS[1], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
local now = clock()
local taken = redis.call('zcount', KEYS[2], '(' .. now, '+inf')
local left = tonumber(ARGV[6]) - taken
redis.call('set', KEYS[1], left, 'keepttl')
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if left >= 0 then
publish(ARGV[5], ARGV[4], left)
end
return keep(operation, 1)
`,
  'permit-semaphore/update-lease': `-- Holdfast: permit-semaphore/update-lease
${counterNumber}${counterOperation2}${touch}local FOREVER = 922337203685477
${clock}${publish}${permitSemaphorePermits3}local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }
touch(KEYS[3])
local operation, _, over = beginOn(KEYS[1], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
reclaim(permits)
local id = raw(ARGV[7])
if not redis.call('zscore', KEYS[2], id) then
return keep(operation, 0)
end
redis.call('zadd', KEYS[2], permits.now + tonumber(ARGV[6]), id)
return keep(operation, 1)
`,
  'read-lock/acquire': `-- Holdfast: read-lock/acquire
${tombstone}${lockTake2}${clock}local LONGEST_LIFE_MS = 120000
${readLockWriters3}${lockNote}${lockIsFree}${readLockHolder}${readLockAcquire6}`,
  'read-lock/force-release': `-- Holdfast: read-lock/force-release
${touch}${publish}${readLockWakeAll2}${readLockReaders}${lockShown}touch(KEYS[1])
if redis.call('hget', KEYS[1], 'mode') ~= ARGV[4] then
return 0
end
local fields = redis.call('hgetall', KEYS[1])
local owners, named = {}, {}
for i = 1, #ARGV - 6 do named[i] = ARGV[i + 6] end
for i = 1, #fields, 2 do
local owner = fields[i]
local isInMode = ARGV[6] ~= '1' or (string.sub(owner, -6) == ':write') == (ARGV[4] == 'write')
if owner ~= 'mode' and isInMode and isShown(owner, named) then
owners[#owners + 1] = owner
redis.call('hdel', KEYS[1], owner)
for n = 1, tonumber(fields[i + 1]) or 0 do
redis.call('del', KEYS[2] .. owner .. ARGV[5] .. n)
end
end
end
if #named > 0 and #owners == 0 then
return -1
end
local isLeft = leaveToReaders(KEYS[1], KEYS[2], ARGV[5])
if ARGV[4] == 'write' then
if isLeft then
redis.call('hset', KEYS[1], 'mode', 'read')
end
redis.call('del', KEYS[3])
wakeAll(ARGV[2], ARGV[1])
elseif not isLeft then
redis.call('del', KEYS[3])
publish(ARGV[2], ARGV[1], '0')
end
for _, owner in ipairs(owners) do
local client = string.match(owner, '^(.-):')
if client then
publish('publish', ARGV[3] .. client, owner)
end
end
return #owners
`,
  'read-lock/release': `-- Holdfast: read-lock/release
${touch}${publish}${readLockReaders}${tombstone}${readLockRelease5}`,
  'read-lock/remaining': `-- Holdfast: read-lock/remaining
${touch}touch(KEYS[1])
local left = -2
for n = 1, tonumber(redis.call('hget', KEYS[1], ARGV[1])) or 0 do
left = math.max(left, redis.call('pttl', KEYS[2] .. ':' .. n))
end
local ttl = redis.call('pttl', KEYS[1])
return (ttl < 0 or left < 0) and left or math.min(left, ttl)
`,
  'read-lock/renew': `-- Holdfast: read-lock/renew
local lease = tonumber(ARGV[1])
local lost = {}
local count = #KEYS / 2
for i = 1, count do
local key = KEYS[i]
local touched = redis.pcall('hdel', key, '')
local isError = type(touched) == 'table' and touched.err
if isError and string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
return touched
end
local holds = not isError and tonumber(redis.call('hget', key, ARGV[i + 1]))
if holds then
redis.call('pexpire', key, math.max(redis.call('pttl', key), lease))
for n = 1, holds do
local timeout = KEYS[count + i] .. ':' .. n
if redis.call('pttl', timeout) < lease then
redis.call('set', timeout, '1', 'px', lease)
end
end
else
lost[#lost + 1] = i
end
end
return lost
`,
  'read-lock/shorten': `-- Holdfast: read-lock/shorten
${touch}${readLockReaders}${tombstone}${endWithin}if refuseCopies(KEYS[2], 1, ARGV[3], ARGV[4], ARGV[5]) then
return 2
end
touch(KEYS[1])
local holds = tonumber(redis.call('hget', KEYS[1], ARGV[1]) or 0)
if holds == 0 then
return 0
end
local lease = tonumber(ARGV[2])
if not lease then
return 1
end
for n = 1, holds do
endWithin(KEYS[3] .. ':' .. n, lease)
end
if redis.call('hget', KEYS[1], 'mode') == 'read' then
endWithin(KEYS[1], math.max(lease, longestOfReaders(KEYS[1], KEYS[4], ARGV[6])))
end
return 1
`,
  'semaphore/acquire': `-- Holdfast: semaphore/acquire
${counterNumber}${counterOperation2}${touch}local operation = begin(KEYS[2], ARGV[1], ARGV[2], ARGV[3])
local free = numberAt(KEYS[1])
if not free then
return NOT_A_NUMBER
end
if operation.outcome then
return { operation.outcome, free }
end
if free < tonumber(ARGV[4]) then
touch(KEYS[2])
return { keep(operation, 0), free, redis.call('exists', KEYS[1]) }
end
free = redis.call('decrby', KEYS[1], ARGV[4])
return { keep(operation, 1), free }
`,
  'semaphore/add': `-- Holdfast: semaphore/add
${counterNumber}${counterOperation2}${publish}local operation, free, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
free = free + tonumber(ARGV[4])
if ARGV[7] == '1' then
redis.call('set', KEYS[1], free, 'keepttl')
else
redis.call('set', KEYS[1], free)
end
if free >= 0 then
publish(ARGV[6], ARGV[5], free)
end
return keep(operation, 1)
`,
  'semaphore/drain': `-- Holdfast: semaphore/drain
${counterNumber}${counterOperation2}local operation, free, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if free > 0 then
redis.call('set', KEYS[1], '0')
end
return keep(operation, math.max(free, 0))
`,
  'semaphore/release': `-- Holdfast: semaphore/release
${counterNumber}${counterOperation2}${touch}${publish}touch(KEYS[2])
local operation, _, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if ARGV[5] == '1' and redis.call('exists', KEYS[1]) == 0 then
return keep(operation, 0)
end
publish(ARGV[7], ARGV[6], redis.call('incrby', KEYS[1], ARGV[4]))
return keep(operation, 1)
`,
  'write-lock/acquire': `-- Holdfast: write-lock/acquire
${tombstone}${lockTake2}${clock}local LONGEST_LIFE_MS = 120000
${readLockWriters3}${lockNote}${lockIsFree}${readLockHolder}${writeLockAcquire6}`,
  'write-lock/release': `-- Holdfast: write-lock/release
${touch}${publish}${readLockWakeAll2}${lockForget}${readLockReaders}${clock}local LONGEST_LIFE_MS = 120000
${readLockWriters3}${tombstone}${writeLockRelease7}`,
  'write-lock/shorten': `-- Holdfast: write-lock/shorten
${touch}${readLockReaders}${tombstone}${endWithin}if refuseCopies(KEYS[2], 1, ARGV[3], ARGV[4], ARGV[5]) then
return 2
end
touch(KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
return 0
end
local lease = tonumber(ARGV[2])
if lease then
endWithin(KEYS[1], math.max(lease, longestOfReaders(KEYS[1], KEYS[3], ARGV[6])))
end
return 1
`,
}

export const inBatches = ['fair-lock/acquire', 'fair-lock/release', 'fair-lock/heartbeat', 'fair-lock/rename', 'read-lock/acquire', 'read-lock/release', 'write-lock/acquire', 'write-lock/release', 'lock/acquire', 'fenced-lock/acquire', 'lock/release', 'lock/rename']
