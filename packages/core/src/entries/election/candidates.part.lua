-- candidates: the waiters of one client in the queue of an election.
local function firstOf(key, client)
  for place, owner in ipairs(redis.call('lrange', key, 0, -1)) do
    if string.match(owner, '^(.*):') == client then
      return owner, place
    end
  end
end
