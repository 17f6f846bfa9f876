const LUA = 'core/dist/esm/scripts/lua-sources.js'

/**
 * Mistakes that locks have been built with. Each is a change of the built code and the faults that bring it out: a
 * kit that does not notice them proves nothing.
 *
 * @type {Record<string, { file: string, find: string, replace: string, args: string[] }>}
 */
export const PLANTED_BUGS = {
  'acquire takes what somebody else has': {
    file: LUA,
    find: "local free = not mine and redis.call('exists', KEYS[1]) == 0",
    replace: 'local free = not mine',
    args: ['--faults', 'script-flush'],
  },
  'acquire sets no time to live': {
    file: LUA,
    find: "redis.call('pexpire', KEYS[1], ARGV[3])",
    replace: '',
    args: ['--faults', 'process-killed'],
  },
  'acquire adds to the count, so that a re-send counts twice': {
    file: LUA,
    find: '(mine or (free and holds == 1)) then',
    replace: '(mine or (free and holds == 1)) then holds = (tonumber(mine) or 0) + 1',
    args: ['--faults', 'lose-reply,cut'],
  },
  'no latch against late copies': {
    file: LUA,
    find: 'local superseded = latched and tonumber(ARGV[4]) <= tonumber(latched)',
    replace: 'local superseded = false',
    args: ['--faults', 'late-copy', '--lease', '20000'],
  },
  'release frees whoever has the lock': {
    file: LUA,
    find: 'if not mine then',
    replace: 'if false then',
    args: ['--faults', 'process-stands-still,event-loop-blocked'],
  },
  'release tells nobody': {
    file: LUA,
    find: "redis.call(ARGV[7], ARGV[6], '0')",
    replace: '',
    args: ['--faults', 'script-flush', '--resync', '10000'],
  },
  'trust for two leases': {
    file: 'watchdog/dist/esm/trusted-until.js',
    find: 'sentAt + ttlMs - trustMarginMs(ttlMs)',
    replace: 'sentAt + 2 * ttlMs',
    args: ['--faults', 'process-stands-still,event-loop-blocked'],
  },
  'a broken connection is not noticed': {
    file: 'core/dist/esm/redis/ioredis-port.js',
    find: 'this.connectionEpoch += 1;',
    replace: '',
    args: ['--faults', 'lose-reply,cut'],
  },
  'a late grant is not given back': {
    file: 'core/dist/esm/contention.js',
    find: 'this.acquisition.giveBack();',
    replace: '',
    args: ['--faults', 'delay', '--lease', '20000'],
  },
  'no try after the subscription': {
    file: 'waiter/dist/esm/line-subscription.js',
    find: '() => this.onWake(), () => {',
    replace: '() => undefined, () => {',
    args: ['--faults', 'script-flush', '--resync', '10000', '--delay', '40', '--locks', '20'],
  },
  'answers of a batch shifted by one': {
    file: 'core/dist/esm/redis/script-dispatch.js',
    find: 'const reply = replies[i];',
    replace: 'const reply = replies[(i + 1) % replies.length];',
    args: ['--faults', 'script-flush'],
  },
}
