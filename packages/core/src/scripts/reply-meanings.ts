/**
 * The meanings of the integers that scripts of locks reply with, each at its place in the list. The headers of the Lua files say
 * the same under RETURNS.
 */
export const REPLY_MEANINGS = {
  /** Instead of a list, which tells who has the lock. */
  acquire: ['', 'acquired', 'lost', 'superseded'],
  /** Beyond the list: released, and so many more connections heard of it; below 0: granted to a waiter for so many ms. */
  release: ['not-held', 'released', 'still-held', 'superseded'],
  rename: ['lost', 'renamed', 'found'],
  shorten: ['lost', 'shortened', 'superseded'],
} as const
