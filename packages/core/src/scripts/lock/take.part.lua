-- take: what an acquire of any lock in one hash does to it, whatever refuses the caller.
-- insert tombstone

-- argv: as every such acquire begins: owner, holds to have afterwards, lease ms, sequence of the command, highest sequence
-- whose copies must be refused from now on, tombstone ttl ms.
-- mine: the owner has it already; isOpen: others may take it; isHeld: there is a lease, which gets no shorter; mode: of a
-- read-write lock, nil for others.
-- Returns 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy), nil another owner has it.
local function take(lock, tombstone, argv, mine, isOpen, isHeld, mode)
  local holds, isSuperseded = tonumber(argv[2]), isLate(tombstone, argv[4])
  if isSuperseded or not mine and not (isOpen and holds == 1) then
    -- As `touch`: a function that captures it costs as much as this command.
    redis.call('hdel', lock, '')
    return isSuperseded and 3 or holds > 1 and 2 or nil
  end
  -- HSET first: out of memory, Redis refuses it only as the first write of a script. After another write it would pass.
  if mode then
    redis.call('hset', lock, 'mode', mode, argv[1], holds)
  else
    redis.call('hset', lock, argv[1], holds)
  end
  redis.call('pexpire', lock, isHeld and math.max(redis.call('pttl', lock), tonumber(argv[3])) or argv[3])
  if argv[5] ~= '0' then
    redis.call('set', tombstone, argv[5], 'px', argv[6])
  end
  return 1
end
