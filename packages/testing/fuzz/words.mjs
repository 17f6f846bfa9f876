/**
 * What programs are made of. A word is a text with a character for each byte, or a moment: so many ms from when the
 * program begins, because a program is run several times, and on several servers.
 *
 * @typedef {{ fromNow: number, unit: 's' | 'ms' | 'us' }} Moment
 * @typedef {string | Moment} Word
 */

/** @param {Word} word @param {number} beginning ms since 1970 @returns {string} */
export const textOf = (word, beginning) => {
  if (typeof word === 'string') return word
  const at = beginning + word.fromNow
  return word.unit === 's' ? `${Math.floor(at / 1_000)}` : word.unit === 'us' ? `${at}000` : `${at}`
}

/** Without -0, which later releases than 7.0 take for an integer. */
const HOSTILE_NUMBERS = [
  ...['', '-1', '1.5', '0', '00', '+1', '1e3', '0x10', ' 12', '12 ', '1_000', '.5', '5.', '-'],
  ...['9223372036854775807', '-9223372036854775808', '9223372036854775808', '99999999999999999999999'],
  ...'9007199254740993 1e400 -1e400 1e-400 nan inf -inf +inf infinity 4294967296'.split(' '),
]
/** Without those that 7.0 takes for scores or bounds and later releases do not, or the other way round (-+inf). */
const HOSTILE_SCORES = HOSTILE_NUMBERS.filter((each) => !/x|^ |^\+inf/.test(each))
const HOSTILE_TEXTS = [
  ...['', ' ', 'abc', '\xff\x00\x01', 'a\r\nb', 'x'.repeat(300)],
  ...'%s %d [ * (1 2:1 null {} [1,2] " {"state":"running"} {"a": h~a : h~a: :1 a:b:c mode read floor'.split(
    ' ',
  ),
  ...[':heard', ':awaits', 'alive:h~a:1', '\xc3\xa9', '1732365600123 - h~a:1', '5 5 gh2:ab', '2:grant:x'],
]

const OWNERS = ['h~a:1', 'h~a:2', 'h~b:1', 'h~b:2', 'h~c:1', 'b3c5:7']
const NAMES = ['x', 'y']

/** Short ends are reached by a pause of the program, long ones never: nothing depends on how fast it runs. */
export const SHORT_MS = [1, 2, 3, 4, 5]
const LONG_MS = [10_000, 30_000, 60_000, 120_000]

/** Where scripts have what kind of key. Several of them meet there, and commands of all types. */
const WILD = ['L', 'Q', 'K', 'P', 'E', 'O', 'S', 'V', 'N', 'D', 'k', 'fl', 'ft', 'fa', 'fh', 'H', 'Y']
/** Those of read-write locks get small counts only: their scripts loop over them, and 2^53 would keep Redis busy. */
const CALM = ['R', 'W', 'T']

/** @param {Word} key */
export const isCalm = (key) => CALM.includes(String(key).replace(/:.*/s, ''))

/** @param {import('../../faults/build/harness/seeded-random.js').SeededRandom} random */
export const wordsFrom = (random) => {
  const { pick, chance, whole } = random
  const name = () => pick(NAMES)
  const owner = () => pick(OWNERS)
  const keyOf = (kinds) => {
    const kind = pick(kinds)
    if (kind === 'D' || kind === 'Y') return `${kind}:${name()}:${owner()}`
    if (kind === 'O') return `O:${name()}:h~a`
    return kind === 'T' ? `T:${name()}:${owner()}:r:${1 + whole(2)}` : `${kind}:${name()}`
  }
  const wildKey = () => keyOf(WILD)
  const calmKey = () => keyOf(CALM)
  const longMs = () => String(pick(LONG_MS))
  return {
    ...random,
    ...{ name, owner, wildKey, calmKey, longMs },
    key: () => (chance(0.75) ? wildKey() : calmKey()),
    client: () => owner().replace(/:\d+$/, ''),
    count: () => String(whole(5)),
    field: () => (chance(0.6) ? owner() : pick(['f', 'g', 'mode', 'token', 'floor', '1', '2', ':heard'])),
    channel: () => pick(['ch:x', 'ch:y', 'in:h~a', 'in:h~b', 'news']),
    text: () =>
      chance(0.2) ? pick(HOSTILE_TEXTS) : pick(['a', 'b', '1', '2', '17', 'read', 'write', owner()]),
    number: () => (chance(0.25) ? pick(HOSTILE_NUMBERS) : String(whole(20) - 4)),
    score: () =>
      chance(0.25) ? pick(HOSTILE_SCORES) : String(pick([whole(10), -whole(10), whole(100) / 8])),
    place: () => String(whole(9) - 4),
    hostileNumber: () => pick(HOSTILE_NUMBERS),
    hostile: () => pick(chance(0.5) ? HOSTILE_SCORES : HOSTILE_TEXTS),
    /** @param {'s' | 'ms' | 'us'} unit @returns {Moment} */
    moment: (unit, least = 10_000, most = 120_000) => ({ fromNow: random.whole(most - least) + least, unit }),
  }
}

/** @typedef {ReturnType<typeof wordsFrom>} Words */
