-- leave: take a waiter out of the line of a plain lock, where lock/release fails: a string has the lock's name.
-- KEYS    [1] line of those who are given the lock
-- ARGV    [1] owner
-- RETURNS 1 it stood in line, 0 it did not
-- RETRY   safe: a second run finds nothing
-- insert lock/line
-- pcall: something of another type is no line.
if type(redis.pcall('zscore', KEYS[1], ARGV[1])) ~= 'string' then
  return 0
end
leave(KEYS[1], ARGV[1])
return 1
