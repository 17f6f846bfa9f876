-- wake-all: says that readers and writers may try.
-- `1` wakes every thread of a Redisson client that sleeps, and none that is about to: such a thread would sleep until
-- the lease ends. `0` leaves it a permit. Written `00` it is the same to Redisson, and clients of ours, which `1` woke,
-- pass it over instead of trying twice.
local function wakeAll(publish, channel)
  redis.call(publish, channel, '1')
  redis.call(publish, channel, '00')
end
