// Mistakes in the scripts of fair and of read-write locks.
import { FAIR, ONLY_TURNS, READ_WRITE } from '../tortures.mjs'

export const BUGS_IN_KINDS = {
  'a fair lock goes to whoever asks first': {
    file: 'core/src/scripts/fair-lock/acquire.lua',
    find: '(not first or first == ARGV[1])',
    replace: 'true',
    torture: FAIR,
  },
  'a fair lock tells nobody whose turn it is': {
    file: 'core/src/scripts/fair-lock/release.lua',
    find: "redis.call('publish', channels.inboxPrefix .. clientOf(owner), 'turn:' .. owner)",
    replace: '',
    torture: ONLY_TURNS,
  },
  'a reader does not look for a writer': {
    file: 'core/src/scripts/read-lock/acquire.lua',
    find: "local open = mode == 'read' or redis.call('exists', KEYS[1]) == 0",
    replace: 'local open = true',
    torture: READ_WRITE,
  },
  'a writer gives its readers up with the write lock': {
    file: 'core/src/scripts/write-lock/release.lua',
    find: "redis.call('hset', KEYS[1], 'mode', 'read')",
    replace: "redis.call('del', KEYS[1])",
    torture: READ_WRITE,
  },
  'a reader leaves the time-outs of its holds': {
    file: 'core/src/scripts/read-lock/release.lua',
    find: "redis.call('del', KEYS[3] .. ':' .. i)",
    replace: '',
    torture: READ_WRITE,
  },
}
