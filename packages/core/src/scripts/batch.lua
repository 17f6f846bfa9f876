-- batch: many transitions in one script, each as if it was sent alone.
-- KEYS    [1] a key that is never written   [2..] the keys of each item, one item after another
-- ARGV    [1] JSON, because parsing hundreds of arguments costs more: a list of forms, of each its transition, number of
--         KEYS, ARGV, and the places in ARGV where its items differ; and a list that has of each item its form and what
--         it has at those places
-- RETURNS a list in the order of the items: the answer of each, or its error
-- RETRY   safe: each item is; an error of the whole script comes before the first item
-- insert batch/shared

-- Functions that a batch of one object does not need are not created: each one costs time.
local function transitionsOf(object)
  if object == 'fair-lock' then
    -- insert batch/fair-locks
  elseif object == 'read-lock' or object == 'write-lock' then
    -- insert batch/read-write-locks
  end
  -- insert batch/plain-locks
end

-- A write that changes nothing, of a kind that Redis refuses when it is out of memory: an acquire behind a
-- release would pass, because a script that has written may go on. Refused, the items are sent one by one.
redis.call('setrange', KEYS[1], 0, '')

local forms, values = unpack(cjson.decode(ARGV[1]))
-- Of a form: its transition, number of KEYS, ARGV, places; and its KEYS. All items of a form share the same tables: no
-- transition keeps or changes them.
local known = {}
for _, form in ipairs(forms) do
  local object = string.match(form[1], '^[^/]+')
  known[object] = known[object] or transitionsOf(object)
  form[1] = known[object][form[1]]
  form[5] = {}
end
local answers = {}
local item, key, value = 0, 1, 1
while values[value] do
  local run, count, argv, places, keys = unpack(forms[values[value]])
  for i = 1, #places do
    argv[places[i]] = values[value + i]
  end
  value = value + 1 + #places
  for i = 1, count do
    keys[i] = KEYS[key + 1]
    key = key + 1
  end
  -- pcall: an error of one item must not fail the others. Redis before 7 raises text.
  local ran, answer = pcall(run, keys, argv)
  if not ran then
    answer = { err = type(answer) == 'table' and answer.err or answer }
  end
  item = item + 1
  answers[item] = answer
end
return answers
