-- acquire: take a free lock, or set the hold count of an owner that has it; a refused owner may join the queue.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner
--         [3] note of the hold; absent if this hold gets none and a refused caller does not want the holder's
--         [4] queue of waiters that a release may grant the lock to; absent if this owner does not join it
-- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] tombstone ttl ms
--         [7] absent or '' for no note, else its ttl ms and a traceparent or '-'
--         [8] for how many ms the owner counts as alive in the queue   [9] nonce of its place there
-- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy),
--         {ttl ms, holder, holds, Redis time in ms until which this owner counts as alive in the queue or 0, and with a note
--         of the holder: for how many ms it has held the lock, its traceparent} if another owner has the lock
-- RETRY   safe: writes the absolute count; the tombstone refuses a copy that arrives after the acquisition has ended
local isPlain = tonumber(ARGV[2]) == 1 and ARGV[5] == '0' and (ARGV[7] or '') == '' and not KEYS[4]
if isPlain and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
  -- HSET first: out of memory, Redis refuses it only as the first write of a script. After another write it would pass.
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1
end

-- Defining these functions costs time, so the commonest acquire, a free lock without a note, has returned above.
-- insert lock/take
-- insert lock/note
local mine = redis.call('hget', KEYS[1], ARGV[1])
-- Not EXISTS: fields can have times of their own, and the key outlives the last of them for a moment.
local holder = mine and {} or redis.call('hgetall', KEYS[1])
local answer = take(KEYS[1], KEYS[2], ARGV, mine, not holder[1], mine)
if answer == 1 then
  describe(KEYS[3], ARGV[1], tonumber(ARGV[2]), ARGV[7])
end
if answer and not KEYS[4] then return answer end

-- Below the acquire of an owner that joins no queue, for the same reason.
-- insert lock/queue
-- pcall: if the key has another type there is no queue, and the waiter relies on messages.
local queue = KEYS[4] and type(redis.pcall('zcard', KEYS[4])) == 'number' and KEYS[4]
if answer == 1 and queue then leave(queue, ARGV[1]) end
if answer then return answer end
local untilMs = queue and enqueue(queue, ARGV[1], tonumber(ARGV[8]), ARGV[9]) or 0
return { redis.call('pttl', KEYS[1]), holder[1], holder[2], untilMs, noteOf(KEYS[3], holder[1]) }
