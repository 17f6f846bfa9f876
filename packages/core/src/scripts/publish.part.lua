-- publish: tells the listeners of a channel.
-- A message that Redis refuses, as to a user who may not publish there, must neither fail a script that has written nor
-- change its answer.
-- Returns how many connections to this server heard it, nil where Redis refused it.
local function publish(command, channel, message)
  return tonumber(redis.pcall(command, channel, message))
end
