-- acquire: take a free lock for an owner, or set the hold count of an owner that has it; refused, it may stand in line.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner
--         [3] note of the hold, absent where it gets none and nobody would be told of that of another
--         [4] line of those who are given the lock, absent where it does not stand there
-- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] tombstone ttl ms
--         [7] absent or '' for no note, else its ttl ms and a traceparent or '-'   [8] ms it counts as alive in line   [9] nonce of its place there
-- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy),
--         {ttl ms, holder, holds, until when it counts as alive in line (ms of Redis) or 0, and with a note its ms and
--         traceparent} when somebody else has it
-- RETRY   safe: writes the absolute count; a copy that comes after the acquisition ended meets the tombstone
local holds = tonumber(ARGV[2])

local isPlain = holds == 1 and ARGV[5] == '0' and (ARGV[7] or '') == '' and not KEYS[4]
if isPlain and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
  -- HSET comes first: it is what Redis refuses when out of memory, and a write before it would let it pass.
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1
end

-- Not before: what takes a free lock without a note shall not pay for it.
-- insert touch
-- insert tombstone
-- insert lock/note
-- insert lock/line
local mine = redis.call('hget', KEYS[1], ARGV[1])
local free = not mine and redis.call('exists', KEYS[1]) == 0
-- pcall: without a line it waits for messages.
local line = KEYS[4] and type(redis.pcall('zcard', KEYS[4])) == 'number' and KEYS[4]
local superseded = isLate(KEYS[2], ARGV[4])

if not superseded and (mine or (free and holds == 1)) then
  redis.call('hset', KEYS[1], ARGV[1], holds)
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3])))
  if ARGV[5] ~= '0' then
    redis.call('set', KEYS[2], ARGV[5], 'px', ARGV[6])
  end
  if line then
    leave(line, ARGV[1])
  end
  describe(KEYS[3], ARGV[1], holds, ARGV[7])
  return 1
end

touch(KEYS[1])
if superseded then
  return 3
end
if holds > 1 then
  return 2
end
local untilMs = line and enqueue(line, ARGV[1], tonumber(ARGV[8]), ARGV[9]) or 0
local holder = redis.call('hgetall', KEYS[1])
return { redis.call('pttl', KEYS[1]), holder[1], holder[2], untilMs, noteOf(KEYS[3], holder[1]) }
