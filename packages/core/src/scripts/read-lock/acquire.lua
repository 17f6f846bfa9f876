-- acquire: take a read lock that no writer has, or set the hold count of a reader.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] tombstone of this owner   [3] waiting writers
--         [4] what the time-out keys of this owner's holds begin with   [5] note of a writer's hold
-- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] tombstone ttl ms
--         [7] the write owner that reads besides, '' for none   [8] 1: it stands back behind waiting writers
-- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy),
--         {ttl ms, a holder, its holds, owners, and with a note its ms and traceparent} when a writer has it, or waits for it
-- RETRY   safe: writes the absolute count; a copy that comes after the acquisition ended meets the tombstone
-- insert lock/take
-- insert read-lock/writers
-- insert lock/note
-- insert lock/is-free
-- insert read-lock/holder
local mode = redis.call('hget', KEYS[1], 'mode')
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
