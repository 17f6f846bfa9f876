-- tell: says to a waiter that it may be its turn. Ours hears it in the inbox of its client, a Java waiter on its own channel.
local function tell(q, owner, channels)
  -- It has come at a far place, perhaps, and got the patience of all before it: now its own is left.
  redis.call('zadd', q.scores, 'xx', 'lt', q.now + q.patience, owner)
  if redis.call('zscore', q.arrivals, owner) then
    redis.call('publish', channels.inboxPrefix .. clientOf(owner), 'turn:' .. owner)
  else
    redis.call(channels.publish, channels.unlock .. ':' .. owner, '0')
  end
end
