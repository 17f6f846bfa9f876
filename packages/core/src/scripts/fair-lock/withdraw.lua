-- withdraw: take an owner that nobody waits for any more out of the line; its hold, if it has one, stays.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
-- ARGV    [1] owner   [2] ms that Redisson gives each waiter
--         [3] prefix of the inbox channels of clients   [4] unlock channel   [5] PUBLISH or SPUBLISH
-- RETURNS 1
-- RETRY   safe: finds nothing
-- insert fair-lock/queue
-- insert fair-lock/call-up
local q = lineAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[2])
remove(q, ARGV[1])
local first = redis.call('exists', KEYS[1]) == 0 and head(q)
if first then
  callUp(q, KEYS[1], first, ARGV[3], ARGV[4], ARGV[5])
end
tidy(q)
return 1
