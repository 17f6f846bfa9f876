-- batch: many transitions in one script, each as if it had come alone.
-- KEYS    [1] a key that nobody ever writes   [2..] the keys of each item, one item after another
-- ARGV    [1] JSON, because parsing hundreds of arguments costs more: a list of forms, of each its transition, number of
--         KEYS, ARGV, and the places in ARGV where its items differ; and a list that has of each item its form and what
--         it has at those places
-- RETURNS a list in the order of the items: the answer of each, or its error
-- RETRY   safe: each item is; an error of the whole script comes before the first item
local transitions = {
  -- include lock/acquire
  -- include fenced-lock/acquire
  -- include lock/release
  -- include lock/rename
  -- include fair-lock/acquire
  -- include fair-lock/release
  -- include fair-lock/heartbeat
  -- include read-lock/acquire
  -- include read-lock/release
  -- include write-lock/acquire
  -- include write-lock/release
}

-- A write that changes nothing, of a kind that Redis refuses when it is out of memory: an acquire behind a
-- release would pass, because a script that has written may go on. Refused, the items are sent one by one.
redis.call('setrange', KEYS[1], 0, '')

local forms, values = unpack(cjson.decode(ARGV[1]))
local answers = {}
local item, key, value = 0, 1, 1
while values[value] do
  local name, count, argv, places = unpack(forms[values[value]])
  -- One table for all items of a form: no transition keeps it or changes it.
  for i, place in ipairs(places) do
    argv[place] = values[value + i]
  end
  value = value + 1 + #places
  local keys = { unpack(KEYS, key + 1, key + count) }
  key = key + count
  -- pcall: the error of one item is not the failure of its neighbours. Redis before 7 raises text.
  local ran, answer = pcall(transitions[name].run, keys, argv)
  if not ran then
    answer = { err = type(answer) == 'table' and answer.err or answer }
  end
  item = item + 1
  answers[item] = answer
end
return answers
