-- batch: many transitions in one script, each as if it had come alone.
-- KEYS    [1] a key that nobody ever writes   [2..] the keys of each item, one item after another
-- ARGV    [1] JSON, because parsing hundreds of arguments costs more: of each item its transition, ARGV and number of KEYS
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

local answers = {}
local key = 1
for i, item in ipairs(cjson.decode(ARGV[1])) do
  local transition = transitions[item[1]]
  local keys = {}
  for position = 1, item[3] do
    keys[position] = KEYS[key + 1]
    key = key + 1
  end
  -- pcall: the error of one item is not the failure of its neighbours. Redis before 7 raises text.
  local ran, answer = pcall(transition.run, keys, item[2])
  if not ran then
    answer = { err = type(answer) == 'table' and answer.err or answer }
  end
  answers[i] = answer
end
return answers
