-- explain: the holders, waiters, note and token of a lock of any kind; or that its key is not a lock.
-- KEYS    [1] lock hash (owner -> holds; of a read-write lock also mode)   [2] note of the hold   [3] token counter
--         [4] queue of a fair lock   [5] waiting writers   [6] a key that is never written
-- ARGV    [1] 1: the key may be anything; a hash counts as a lock if it has a time to live, and what has none is no lock.
--         0: the lock was asked for by its name; a hash that is no lock is an error of Redis's kind WRONGTYPE
--         [2] 1: another library's string counts as a lock, too
-- RETURNS {ttl ms, {owner, holds, ...; of a read-write lock also mode, its value} or {first 200 bytes of a string, -1},
--         token or '', waiters in the queue, waiting writers; if there is a note of a present owner: that owner, for how many
--         ms it has held the lock, its traceparent}; 0 if the lock is free, or the key is not a lock
-- RETRY   safe: changes nothing
-- insert lock/note
-- insert read-lock/writers
-- insert lock/shape
-- A write that changes nothing, as in touch, but on a key of ours: the lock's key may belong to another application.
redis.call('del', KEYS[6])
local ttl = redis.call('pttl', KEYS[1])
local isAsked = ARGV[1] == '0'
if ttl == -2 or (ttl <= 0 and not isAsked) then
  return 0
end
local isString = ARGV[2] == '1' and redis.call('type', KEYS[1]).ok == 'string'
local fields = isString and { redis.call('getrange', KEYS[1], 0, 199), '-1' }
  or fieldsOfLock(KEYS[1], redis.call('hlen', KEYS[1]), isAsked)
if not fields then
  return isAsked and redis.error_reply(NO_LOCK) or 0
end
-- pcall: a key beside the lock that has another type tells nothing about it.
local token, inLine, writers = redis.pcall('get', KEYS[3]), redis.pcall('llen', KEYS[4]), writersAt(KEYS[5])
if not fields[1] then return 0 end
local answer = {
  ttl,
  fields,
  type(token) == 'string' and token or '',
  type(inLine) == 'number' and inLine or 0,
  type(writers) == 'number' and writers or 0,
}
local note = redis.pcall('get', KEYS[2])
local noted = type(note) == 'string' and string.match(note, '^%d+ %S+ (.+)$')
if noted and not isString and redis.call('hexists', KEYS[1], noted) == 1 then
  answer[6], answer[7], answer[8] = noted, noteOf(KEYS[2], noted)
end
return answer
