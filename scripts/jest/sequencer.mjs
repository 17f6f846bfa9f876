import Sequencer from '@jest/test-sequencer'

/** Their files compute; those of the others wait for most of their time. */
const COMPUTING = ['unit', 'engine', 'nestjs']

const isComputing = ({ context }) => COMPUTING.includes(context.config.displayName?.name)

/**
 * Files that compute and files that wait begin in turns, so that all the time some of each kind run: four that wait leave
 * processors idle, and four that compute keep them from each other. Those of each kind are in Jest's order, the longest first.
 */
export default class InTurns extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests)
    const spread = (kind) => kind.map((test, i) => ({ test, place: (i + 1) / kind.length }))
    const [computing, waiting] = [sorted.filter(isComputing), sorted.filter((test) => !isComputing(test))]
    return [...spread(computing), ...spread(waiting)]
      .sort((a, b) => a.place - b.place)
      .map(({ test }) => test)
  }
}
