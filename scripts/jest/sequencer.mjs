import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import Sequencer from '@jest/test-sequencer'

/** Projects whose files compute; those of the others wait for most of their time. */
const COMPUTING = ['unit', 'engine', 'nestjs']
/** Those that take long, the longest first. */
const LONG = Object.keys(JSON.parse(readFileSync(new URL('figures.json', import.meta.url), 'utf8')).long)

const isComputing = ({ context }) => COMPUTING.includes(context.config.displayName?.name)
const rankOf = ({ path, context }) => {
  const rank = LONG.indexOf(relative(context.config.rootDir, path))
  return rank === -1 ? LONG.length : rank
}

/**
 * Files that compute and files that wait begin in turns, so that all the time some of each kind run: four that wait leave
 * processors idle, and four that compute keep them from each other. Of each kind the long ones are first: where Jest does not
 * know how long a file took, it takes the largest first.
 */
export default class InTurns extends Sequencer {
  sort(tests) {
    const longFirst = super.sort(tests).toSorted((a, b) => rankOf(a) - rankOf(b))
    const spread = (kind) => kind.map((test, i) => ({ test, place: (i + 1) / kind.length }))
    const [computing, waiting] = [true, false].map((is) =>
      longFirst.filter((test) => isComputing(test) === is),
    )
    return [...spread(computing), ...spread(waiting)]
      .sort((a, b) => a.place - b.place)
      .map(({ test }) => test)
  }
}
