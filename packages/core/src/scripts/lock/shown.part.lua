-- shown: whether an owner is the holder that somebody was shown, who wants it released by force.
-- What is shown of a long name, and of a hold that was handed over, ends with an ellipsis for the rest.
local function isShown(owner, holder)
  local beginning = string.match(holder, '^(.+)\226\128\166$')
  return owner == holder or (beginning ~= nil and string.sub(owner, 1, #beginning) == beginning)
end
