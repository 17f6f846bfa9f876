// Stops and blocks processes that hold locks, for 0.1 to 3 leases, while others want the locks. docs/reliability.md tells how to
// read the verdict.
import { count, minutes, ms } from '../run/options.js'
import { defineScenario } from '../run/scenario.js'
import { torture } from './torture.js'

/** Each of them has to have happened, or the run proves nothing. */
interface Proving {
  readonly losses: number
  readonly refusedWrites: number
}

export const pauses = defineScenario({
  name: 'pauses',
  summary: 'Holders that are stopped or blocked for 0.1 to 3 leases, and what they write blindly.',
  options: {
    minutes: minutes(2, 'how long processes are paused'),
    processes: count(4, 'processes that want the locks, and are paused', { least: 2 }),
    // Below it the time a signal takes to arrive would be a large part of the shortest pause.
    lease: ms(1_000, 'how long a lock lasts without renewal', { least: 300 }),
  },
  smoke: '--minutes 0.2 --lease 500',
  long: '--minutes 5',
  heading: ({ processes, lease }) => `${processes} processes to pause, lease ${lease} ms`,

  async run(run) {
    const { verdict } = await run.part(torture, {
      ...run.options,
      kinds: ['lock', 'fenced'],
      faults: ['process-stands-still', 'event-loop-blocked'],
    })
    const { losses, refusedWrites } = verdict.figures as Proving
    const missing = Object.entries({ losses, refusedWrites }).filter(([, times]) => times === 0)
    return {
      ...verdict,
      violations: [
        ...verdict.violations,
        ...missing.map(([name]) => `This run proves nothing: of '${name}' there is none.`),
      ],
    }
  },
})
