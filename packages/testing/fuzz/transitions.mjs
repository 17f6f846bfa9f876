// Arguments of each script of Holdfast: KEYS and ARGV as its header has them, with values that fit together.

/** @param {import('./words.mjs').Words} w */
const callOf = (w) => {
  const [name, owner] = [w.name(), w.owner()]
  const client = owner.replace(/:\d+$/, '')
  const publish = w.pick(['PUBLISH', 'PUBLISH', 'SPUBLISH'])
  const sequence = 1 + w.whole(6)
  const ttl = w.longMs()
  // The numbers of each command: its sequence, through which sequence copies are refused, how long.
  const stamp = [`${sequence}`, w.chance(0.6) ? '0' : `${sequence - w.whole(2)}`, ttl]
  const before = `T:${name}:`
  const behind = ':r:'
  return {
    ...{ name, owner, client, publish, stamp, ttl, before, behind },
    ...{ lock: `L:${name}`, tombstone: `D:${name}:${owner}`, note: `N:${name}`, line: `Q:${name}` },
    ...{ token: `K:${name}`, readWrite: `R:${name}`, writers: `W:${name}`, channel: `ch:${name}` },
    ...{
      counter: `P:${name}`,
      ends: `E:${name}`,
      ticks: `S:${name}`,
      terms: `M:${name}`,
      value: `V:${name}`,
    },
    ...{ kept: `H:${name}`, result: `Y:${name}:${owner}` },
    ...{ operations: `O:${name}:h~a`, mine: `${before}${owner}:r`, inbox: 'in:', lease: w.longMs() },
    fair: [`L:${name}`, `fl:${name}`, `ft:${name}`, `fa:${name}`, `fh:${name}`],
    grants: ['5000', 'in:', `ch:${name}`, publish],
    holds: String(w.chance(0.7) ? 1 : 1 + w.whole(3)),
    keep: String(w.chance(0.7) ? 0 : w.whole(3)),
    noteWish: w.chance(0.5)
      ? ''
      : `${ttl} ${w.pick(['-', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'])}`,
    operation: [`${sequence}`, `${w.whole(sequence)}`, ttl],
    nonce: String(1 + w.whole(1_000)),
    marks: `${w.pick(['', 'g', 'gp'])}${w.pick(['h', ''])}2:${w.pick(['ab', '0f1e'])}`,
    /** An optional last word. */
    perhaps: (word) => (w.chance(0.5) ? [word] : []),
    permit: () => w.pick(['00', '0a', 'ff']).repeat(16),
  }
}

/** @typedef {ReturnType<typeof callOf>} Call */
/** @typedef {(c: Call, w: import('./words.mjs').Words) => readonly [readonly unknown[], readonly unknown[]]} Transition */

/** @type {Record<string, Transition>} */
const PLAIN = {
  'lock/acquire': (c, w) => [
    [c.lock, c.tombstone, ...(w.chance(0.7) ? [c.note, ...c.perhaps(c.line)] : [])],
    [c.owner, c.holds, c.lease, ...c.stamp, c.noteWish, c.lease, c.nonce],
  ],
  'lock/announce': (c) => [[c.lock], [c.channel, c.publish]],
  'lock/explain': (c, w) => [
    [w.pick([c.lock, c.readWrite, w.key()]), c.note, c.token, `fl:${c.name}`, c.writers, 'nobody'],
    [w.pick(['0', '1']), w.pick(['0', '1'])],
  ],
  'lock/force-release': (c, w) => [
    [c.lock, c.note],
    [c.channel, w.pick([c.publish, '']), c.inbox, ...c.perhaps(w.owner())],
  ],
  'lock/inspect': (c) => [[c.lock], []],
  'lock/listeners': (c) => [[c.lock], [c.channel, c.publish]],
  'lock/release': (c, w) => [
    [c.lock, c.line, c.tombstone, ...c.perhaps(c.note)],
    [
      c.owner,
      c.keep,
      ...c.stamp,
      c.channel,
      w.pick([c.publish, '']),
      w.pick(['', '0', '1']),
      c.inbox,
      ...c.perhaps('1'),
    ],
  ],
  'lock/rename': (c, w) => [
    [c.lock, ...c.perhaps(c.note)],
    [c.owner, c.noteWish, w.owner(), ...c.perhaps(w.owner())],
  ],
  'lock/renew': (c, w) => [
    [`L:x`, `L:y`],
    [c.lease, w.owner(), w.owner()],
  ],
  'lock/shorten': (c, w) => [
    [c.lock, c.tombstone],
    [c.owner, w.pick([c.lease, '']), ...c.stamp],
  ],
  'fenced-lock/acquire': (c, w) => [
    [c.lock, c.tombstone, c.note, c.token],
    [c.owner, c.holds, c.lease, ...c.stamp, c.noteWish, w.pick(['counter', 'time']), w.pick(['0', c.ttl])],
  ],
  'fenced-lock/get-token': (c) => [[c.lock, c.token], []],
  'fenced-value/set': (c, w) => [
    [c.value],
    [String(w.whole(30)), w.text(), w.pick(['0', c.ttl]), c.client, w.count()],
  ],
  'foreign-lock/leave': (c) => [[c.line], [c.owner]],
  'foreign-lock/look': (c, w) => [[w.pick([c.lock, w.key()]), 'nobody'], []],
}

/** @type {Record<string, Transition>} */
const FAIR = {
  'fair-lock/acquire': (c, w) => [
    [...c.fair, c.tombstone, c.note],
    [
      ...[
        c.owner,
        c.holds,
        c.lease,
        ...c.stamp,
        c.client,
        w.longMs(),
        '5000',
        w.pick(['0', '0', '-1', '1', '2']),
      ],
      ...[
        c.inbox,
        c.channel,
        c.publish,
        c.marks,
        ...(w.chance(0.5)
          ? [c.noteWish, ...(w.chance(0.5) ? [w.pick(['', '1']), ...c.perhaps(w.pick(['0', '1', '3']))] : [])]
          : []),
      ],
    ],
  ],
  'fair-lock/force-release': (c, w) => [
    [...c.fair, c.note],
    [...c.grants, ...c.perhaps(w.owner())],
  ],
  'fair-lock/heartbeat': (c, w) => [c.fair, [c.client, w.longMs(), ...c.grants, c.marks]],
  'fair-lock/release': (c, w) => [
    [...c.fair, c.tombstone, ...c.perhaps(c.note)],
    [c.owner, c.keep, ...c.stamp, ...c.grants, ...c.perhaps(w.owner())],
  ],
  'fair-lock/rename': (c, w) => [
    [...c.fair, ...c.perhaps(c.note)],
    [c.owner, c.noteWish, ...c.grants, '1', w.owner(), ...c.perhaps(w.owner())],
  ],
  'fair-lock/withdraw': (c, w) => [c.fair, [w.pick([c.owner, '']), ...c.grants]],
}

/** @type {Record<string, Transition>} */
const READ_WRITE = {
  'read-lock/acquire': (c, w) => [
    [c.readWrite, c.tombstone, c.writers, c.mine, c.note],
    [c.owner, c.holds, c.lease, ...c.stamp, w.pick(['', `${c.owner}:write`]), w.pick(['0', '1'])],
  ],
  'read-lock/force-release': (c, w) => [
    [c.readWrite, c.before, c.note],
    [
      c.channel,
      c.publish,
      c.inbox,
      w.pick(['read', 'write']),
      c.behind,
      w.pick(['', '1']),
      ...c.perhaps(w.owner()),
    ],
  ],
  'read-lock/release': (c) => [
    [c.readWrite, c.tombstone, c.mine, c.before],
    [c.owner, c.keep, ...c.stamp, c.channel, c.publish, c.behind],
  ],
  'read-lock/remaining': (c) => [[c.readWrite, c.mine], [c.owner]],
  'read-lock/renew': (c, w) => {
    const owners = [w.owner(), w.owner()]
    return [
      ['R:x', 'R:y', `T:x:${owners[0]}:r`, `T:y:${owners[1]}:r`],
      [c.lease, ...owners],
    ]
  },
  'read-lock/shorten': (c, w) => [
    [c.readWrite, c.tombstone, c.mine, c.before],
    [c.owner, w.pick([c.lease, '']), ...c.stamp, c.behind],
  ],
  'write-lock/acquire': (c, w) => [
    [c.readWrite, c.tombstone, c.writers, c.note],
    [`${c.owner}:write`, c.holds, c.lease, ...c.stamp, w.pick(['0', '20000']), ...c.perhaps(c.noteWish)],
  ],
  'write-lock/release': (c) => [
    [c.readWrite, c.tombstone, c.writers, c.before, ...c.perhaps(c.note)],
    [`${c.owner}:write`, c.keep, ...c.stamp, c.channel, c.publish, c.behind],
  ],
  'write-lock/shorten': (c, w) => [
    [c.readWrite, c.tombstone, c.before],
    [`${c.owner}:write`, w.pick([c.lease, '']), ...c.stamp, c.behind],
  ],
}

const countedDown = (c) => [
  [c.counter, c.operations],
  [...c.operation, c.channel, c.publish],
]

/** @type {Record<string, Transition>} */
const COUNTING = {
  'counter/cancel': (c, w) => [
    [c.counter, c.operations],
    [...c.operation, w.pick(['1', '-1', '2']), c.channel, c.publish],
  ],
  'counter/get': (c) => [[c.counter, c.operations], []],
  'counter/try-set': (c, w) => [
    [c.counter, c.operations],
    [...c.operation, w.count(), w.pick(['0', c.ttl]), c.channel, c.publish, '1'],
  ],
  'latch/count-down': countedDown,
  'latch/delete': countedDown,
  'semaphore/acquire': (c, w) => [
    [c.counter, c.operations],
    [...c.operation, w.count()],
  ],
  'semaphore/add': (c, w) => [
    [c.counter, c.operations],
    [...c.operation, w.place(), c.channel, c.publish, ...c.perhaps('1')],
  ],
  'semaphore/drain': (c) => [[c.counter, c.operations], c.operation],
  'semaphore/release': (c, w) => [
    [c.counter, c.operations],
    [...c.operation, w.count(), w.pick(['', '1']), c.channel, c.publish],
  ],
}

const permits = (c) => [c.counter, c.ends, c.operations]
const released = (c) => [
  permits(c),
  [...c.operation, c.channel, c.publish, c.permit(), ...c.perhaps(c.permit())],
]

/** @type {Record<string, Transition>} */
const PERMITS = {
  'permit-semaphore/acquire': (c, w) => [
    permits(c),
    [...c.operation, c.channel, c.publish, w.pick(['0', c.lease]), c.permit(), ...c.perhaps(c.permit())],
  ],
  'permit-semaphore/cancel': released,
  'permit-semaphore/count': (c) => [
    [c.counter, c.ends],
    [c.channel, c.publish],
  ],
  'permit-semaphore/release': released,
  'permit-semaphore/renew': (c) => [[c.ends], [c.lease, c.permit()]],
  'permit-semaphore/set': (c, w) => [permits(c), [...c.operation, c.channel, c.publish, w.count()]],
  'permit-semaphore/update-lease': (c) => [
    permits(c),
    [...c.operation, c.channel, c.publish, c.lease, c.permit()],
  ],
}

/** Ticks an hour apart or more, so that which of them is late, or too soon, does not hang on a millisecond. */
const tick = (w) => ({ fromNow: (w.whole(5) - 4) * 3_000_000, unit: 'ms' })

/** @type {Record<string, Transition>} */
const SCHEDULES = {
  'schedule/begin': (c, w) => [
    [c.lock, c.ticks],
    [
      ...[c.owner, w.chance(0.7) ? tick(w) : '', w.pick(['0', '20000']), c.ttl, w.pick(['2', '100'])],
      ...[w.pick(['0', '1000']), w.pick(['0', '6000'])],
    ],
  ],
  'schedule/finish': (c, w) => [
    [c.lock, c.ticks],
    [c.owner, w.pick(['done', 'failed', 'lost']), w.pick(['', 'it broke']), c.ttl, '100'],
  ],
  'schedule/miss': (c, w) => [[c.ticks], [tick(w), c.ttl, w.pick(['2', '100'])]],
  'schedule/read': (c) => [[c.lock, c.ticks], []],
}

/** @type {Record<string, Transition>} */
const SHARE = {
  'share/enter': (c, w) => {
    const awaits = w.chance(0.5)
    return [
      [c.lock, c.tombstone, c.note, c.kept, ...(awaits ? [c.result] : [])],
      [
        c.owner,
        c.lease,
        ...c.stamp,
        c.noteWish,
        w.pick(['0', '20000']),
        w.pick(['0', '30000']),
        ...(awaits ? [w.owner(), w.pick(['0', '1'])] : ['', '0']),
        c.ttl,
      ],
    ]
  },
  'share/finish': (c, w) => [
    [c.lock, c.tombstone, c.note, c.kept, c.result],
    [
      c.owner,
      ...c.stamp,
      w.pick(['vtoken', 'v', 'e{}', 'n']),
      c.ttl,
      w.pick(['0', '20000']),
      w.pick(['0', '30000']),
      c.channel,
      'PUBLISH',
    ],
  ],
  'share/invalidate': (c) => [
    [c.lock, c.kept],
    [c.ttl, c.ttl],
  ],
}

/** The name that stands for a token of a lock that is handed over. */
const traveller = (w) => `h~t:${w.pick(['1', '2'])}`

/** @type {Record<string, Transition>} */
const TRAVEL = {
  'travel/adopt': (c, w) => [
    [c.lock, c.tombstone, c.note, ...c.perhaps(c.token)],
    [
      c.owner,
      traveller(w),
      c.lease,
      ...c.stamp,
      c.noteWish,
      w.pick(['counter', 'time']),
      w.pick(['0', c.ttl]),
    ],
  ],
  'travel/hand-over': (c, w) => [
    [c.lock, c.tombstone, ...c.perhaps(c.note)],
    [c.owner, traveller(w), c.lease, c.stamp[0], c.ttl],
  ],
}

const holding = (c, w) => [
  w.pick([c.lock, c.readWrite, w.key()]),
  ...[c.note, c.token, `fl:${c.name}`, `fa:${c.name}`, c.line, c.writers],
]

/** @type {Record<string, Transition>} */
const OBSERVE = {
  'observe/clients': (c) => [[c.line, 'nobody'], []],
  'observe/keys': (c, w) => [[c.lock, w.key(), 'nobody'], []],
  'observe/look': (c, w) => {
    const isAsked = w.chance(0.3)
    return [
      [...holding(c, w), ...(!isAsked && w.chance(0.5) ? holding(c, w) : []), 'nobody'],
      [w.pick(['1', '20']), w.pick(['0', '1']), ...(isAsked ? ['1'] : [])],
    ]
  },
  'observe/read': (c) => [[c.value, c.note, 'nobody'], []],
  'observe/report': (c, w) => [
    [c.note, c.line],
    [c.client, w.pick(['0', c.lease]), w.text()],
  ],
  'observe/tell': (c, w) => [['nobody'], [c.channel, w.text()]],
}

/** @type {Record<string, Transition>} */
const ELECTIONS = {
  'election/accept': (c, w) => [
    [c.lock, c.terms, c.fair[1]],
    [c.client, w.count(), w.pick(['1', '2']), c.channel, c.publish],
  ],
  'election/ask': (c, w) => [
    [c.lock, c.terms, c.fair[1]],
    [c.owner, w.pick([c.client, w.owner()]), w.pick(['1', '2']), c.channel, c.publish],
  ],
  'election/begin': (c, w) => [
    [c.lock, c.terms, c.token],
    [
      ...[
        c.owner,
        w.pick(['', '{"url":"http://a"}']),
        ...w.pick([
          ['', ''],
          ['7', '1700000000000'],
        ]),
      ],
      ...[w.pick(['counter', 'time']), c.ttl, w.pick(['1', '32']), c.channel, c.publish],
    ],
  ],
  'election/look': (c, w) => [[c.lock, c.terms, ...c.perhaps(c.fair[1])], [w.pick(['', '1', '3'])]],
  'election/release': (c, w) => [
    [...c.fair, c.tombstone, c.terms, ...c.perhaps(c.note)],
    [c.owner, ...c.stamp, ...c.grants, w.pick(['', c.client]), c.channel, c.publish],
  ],
}

/** Scripts that work on the same keys. */
export const FAMILIES = {
  ...{ plain: PLAIN, fair: { ...FAIR, ...PLAIN }, 'read-write': READ_WRITE, counting: COUNTING },
  ...{
    permits: { ...PERMITS, 'counter/get': COUNTING['counter/get'] },
    schedules: { ...SCHEDULES, ...PLAIN },
    elections: { ...ELECTIONS, ...FAIR },
  },
}

/** All of them; `batch` is made of some. @type {Record<string, Transition>} */
export const TRANSITIONS = {
  ...PLAIN,
  ...FAIR,
  ...READ_WRITE,
  ...COUNTING,
  ...PERMITS,
  ...SCHEDULES,
  ...ELECTIONS,
  ...SHARE,
  ...TRAVEL,
  ...OBSERVE,
}

/**
 * KEYS and ARGV of a run of this script.
 *
 * @param {string} name @param {import('./words.mjs').Words} w
 * @returns {{ keys: import('./words.mjs').Word[], args: import('./words.mjs').Word[] }}
 */
export const runOf = (name, w) => {
  const [keys, args] = TRANSITIONS[name](callOf(w), w)
  return { keys: [...keys], args: [...args] }
}
