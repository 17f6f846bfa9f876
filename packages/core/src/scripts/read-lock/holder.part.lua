-- holder: the holder of a read-write lock, for refused callers: the writer, or one of the readers, and how many there are.
local function heldBy(lock, note)
  local fields = redis.call('hgetall', lock)
  local owner, holds, owners = '', 0, 0
  for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' then
      owners = owners + 1
      if owners == 1 or string.sub(fields[i], -6) == ':write' then
        owner, holds = fields[i], fields[i + 1]
      end
    end
  end
  return { redis.call('pttl', lock), owner, holds, owners, noteOf(note, owner) }
end
