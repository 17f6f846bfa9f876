-- finish: note the outcome of the tick that an owner ran.
-- KEYS    [1] lock hash (owner -> holds)   [2] ticks of the schedule
-- ARGV    [1] owner   [2] done (lost, when it has no lock), failed or lost   [3] text of the error, or ''   [4] ttl of the ticks ms
--         [5] how many of them are kept
-- RETURNS 1 noted, 0 the owner runs none (a copy, or another owner has found it unfinished)
-- RETRY   safe: a tick that is not running is left alone
-- insert touch
-- insert schedule/ticks
touch(KEYS[2])
local isLost = ARGV[2] == 'done' and redis.call('hexists', KEYS[1], ARGV[1]) == 0
for tick, entry in pairs(ticksAt(KEYS[2])) do
  if entry.owner == ARGV[1] and entry.state == 'running' then
    entry.state = isLost and 'lost' or ARGV[2]
    entry.to = asText(clock())
    if ARGV[3] ~= '' then
      entry.error = ARGV[3]
    end
    note(KEYS[2], tick, entry, { ttl = ARGV[4], most = ARGV[5] })
    return 1
  end
end
return 0
