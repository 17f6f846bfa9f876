-- withdraw: remove an owner without a waiting caller from the queue, not its hold; grant a free lock to the first in the queue.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
-- ARGV    [1] owner, '' for none   [2] ms that Redisson gives each waiter
--         [3] prefix of the inbox channels of clients   [4] unlock channel   [5] PUBLISH or SPUBLISH
-- RETURNS ms that a waiter of ours has to use it while others wait, 0 for nothing of that
-- RETRY   safe: finds nothing
-- insert fair-lock/head
-- insert fair-lock/grant-to-first
-- insert lock/is-free
local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[2])
remove(q, ARGV[1])
local first = isFree(KEYS[1]) and head(q)
local usedWithinMs = first and grantToFirst(q, KEYS[1], first, ARGV[3], ARGV[4], ARGV[5]) or 0
tidy(q)
return usedWithinMs
