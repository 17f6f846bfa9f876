-- acquire: take a free write lock, or set the hold count of the writer; if it is refused, mark for readers that a writer waits.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] tombstone of this owner   [3] waiting writers
--         [4] note of the hold
-- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] tombstone ttl ms
--         [7] ms that readers stand back for it, 0 when it does not wait
--         [8] note, or absent, as lock/acquire
-- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy),
--         {ttl ms, a holder, its holds, owners, and with a note its ms and traceparent} when another owner has it
-- RETRY   safe: writes the absolute count; a copy that comes after the acquisition ended meets the tombstone
-- insert lock/take
-- insert read-lock/writers
-- insert lock/note
-- insert lock/is-free
-- insert read-lock/holder
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
local answer = take(KEYS[1], KEYS[2], ARGV, mine, not mine and isFree(KEYS[1]), mine, 'write')
if answer == 1 then
  -- pcall: a key of another type as the queue of writers must not make a granted lock look refused.
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
