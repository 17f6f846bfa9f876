-- release: end the term of an owner, and release the lock as fair-lock/release does: to a successor, if it names one.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
--         [6] tombstone of this owner   [7] terms   [8] note of the hold, absent where it has none
-- ARGV    [1] owner   [2] sequence of this command
--         [3] highest sequence whose copies must be refused from now on, 0 for none   [4] tombstone ttl ms
--         [5] ms that Redisson gives each waiter   [6] prefix of the inbox channels of clients   [7] unlock channel
--         [8] PUBLISH or SPUBLISH there   [9] client id of the successor, '' for none   [10] channel of the election
--         [11] PUBLISH or SPUBLISH there
-- RETURNS as fair-lock/release: 1 released, 0 this owner holds nothing, -n released, and a waiter of ours has n ms to use it
-- RETRY   safe: compares the owner; a copy finds that it has nothing, moves nobody and ends nobody else's term
-- insert publish
-- insert fair-lock/end-hold
-- insert tombstone
-- insert election/terms
-- insert election/move-to-front
local function openQueue()
  return queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[5])
end
-- pcall: the way out of the queue is open also when something of another type has the name of the lock.
local mine = redis.pcall('hexists', KEYS[1], ARGV[1]) == 1
if mine and ARGV[9] ~= '' then
  -- First, so that Redis lets the queue be written even when it is out of memory.
  touch(KEYS[1])
  besideLock(function()
    moveToFront(openQueue(), ARGV[9])
  end)
end
refuseCopies(KEYS[6], 0, ARGV[2], ARGV[3], ARGV[4])
local answer = endHold(KEYS[1], ARGV[1], KEYS[8], openQueue, {}, ARGV[6], ARGV[7], ARGV[8])
if mine then
  besideLock(function()
    local term = latestTerm(KEYS[7])
    if term and term.owner == ARGV[1] then
      term.to = msNow()
      replaceLatest(KEYS[7], term)
      publish(ARGV[11], ARGV[10], '1:term')
    end
  end)
end
return answer
