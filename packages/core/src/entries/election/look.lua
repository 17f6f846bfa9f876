-- look: who has the lock, the terms since one that is known, and who is queued.
-- KEYS    [1] lock hash (owner -> holds)   [2] terms   [3] queue, absent if nobody asks for it
-- ARGV    [1] token of the latest term that is known: that and later ones are told; '' for the latest alone
-- RETURNS {ttl ms, owner or '', {a term as JSON, ...} the newest first, {owner, ...} in the queue, the first first}
-- RETRY   safe: changes nothing
-- insert touch
touch(KEYS[1])
local owner = redis.call('hkeys', KEYS[1])[1] or ''
local told = {}
local kept = redis.call('lrange', KEYS[2], ARGV[1] == '' and -1 or 0, -1)
for i = #kept, 1, -1 do
  told[#told + 1] = kept[i]
  local isRead, term = pcall(cjson.decode, kept[i])
  if isRead and type(term) == 'table' and term.token == ARGV[1] then
    break
  end
end
local queue = KEYS[3] and redis.call('lrange', KEYS[3], 0, -1) or {}
return { owner == '' and -2 or redis.call('pttl', KEYS[1]), owner, told, queue }
