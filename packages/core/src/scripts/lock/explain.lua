-- explain: all that Redis has about a lock, of whatever kind; or that the key is none.
-- KEYS    [1] lock hash (owner -> holds; of a read-write lock also mode)   [2] note of the hold   [3] token counter
--         [4] queue of a fair lock   [5] waiting writers   [6] a key that nobody ever writes
-- ARGV    [1] 1: it may be anything; a hash is a lock if it looks like one and has a time to live
--         [2] 1: the string of another library is one, too
-- RETURNS {ttl ms, {owner, holds, ...; perhaps mode, its value} or of a string {its first 200 bytes, -1}, token or '',
--         waiters in line, waiting writers, and with a note of an owner: that owner, its ms and its traceparent}; 0 when
--         nobody has it, or it is no lock
-- RETRY   safe: changes nothing
-- insert lock/note
-- insert read-lock/writers
-- insert lock/shape
-- A write as touch is one, but not to the key itself, which may be somebody else's.
redis.call('del', KEYS[6])
local ttl = redis.call('pttl', KEYS[1])
local isString = ARGV[2] == '1' and redis.call('type', KEYS[1]).ok == 'string'
if ttl == -2 or (ARGV[1] == '1' and not (ttl > 0 and (isString or looksLikeLock(KEYS[1])))) then
  return 0
end
local fields = isString and { redis.call('getrange', KEYS[1], 0, 199), '-1' } or redis.call('hgetall', KEYS[1])
-- pcall: what is beside the lock and is of another type is nothing that is known of it.
local token, inLine, writers = redis.pcall('get', KEYS[3]), redis.pcall('llen', KEYS[4]), writersAt(KEYS[5])
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
