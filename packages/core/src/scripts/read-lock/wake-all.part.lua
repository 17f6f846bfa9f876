-- wake-all: tells readers and writers to try.
-- `1` wakes every sleeping thread of a Redisson client, but none that is about to sleep: that one would sleep until the
-- lease ends. `0` leaves it a permit. Written as `00`, it means the same to Redisson, and Holdfast clients, which `1` has
-- woken, ignore it instead of trying twice.
-- insert publish
-- Returns how many connections to this server were woken.
local function wakeAll(command, channel)
  local heard = publish(command, channel, '1')
  publish(command, channel, '00')
  return heard or 0
end
