// Thousands of acquires, re-entries, releases and renewals whose requests and replies get lost and arrive again late,
// and after each the count in Redis (I2). What it shows: docs/reliability.md.
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './replay/arguments.mjs'
import { list } from './replay/counts.mjs'
import { Difference } from './replay/model.mjs'
import { replay } from './replay/replay.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

/** A machine that stood still or set its clock has ended leases before their time: such a run says nothing. */
const undisturbed = async (run) => {
  try {
    return await run()
  } catch (error) {
    if (!error.isVoid) throw error
    log(`This run is void, leases have ended before their time; once again.\n${error}`)
    return run()
  }
}

const describe = ({ operations, rests, unanswered, longestMs, passes, copies, latches, pulse, ...counts }) =>
  [
    `  ${operations} operations, compared after each and at ${rests} rests; ${unanswered} were told that nobody knows`,
    `  done: ${list(counts.done)}; passed on in memory ${passes}`,
    `  broken: ${list(counts.kinds)}`,
    `  hit: ${list(counts.hits)}`,
    `  ${copies} late copies delivered, ${latches} latches; longest call ${Math.round(longestMs)} ms`,
    `  ${pulse}`,
  ].join('\n')

await runScript({
  ...{ parseArguments, USAGE },
  run: async ({ operations, seed, combinations }) => {
    for (const { client, autoPipelining } of combinations) {
      interrupted.throwIfAborted()
      const startedAt = performance.now()
      console.log(`${client}, auto-pipelining ${autoPipelining ? 'on' : 'off'}, seed ${seed}`)
      const figures = await undisturbed(() =>
        replay({ client, autoPipelining, operations, seed }, { interrupted, log }),
      )
      console.log(`${describe(figures)}\n  ${Math.round((performance.now() - startedAt) / 1000)} s`)
    }
    console.log('No difference.')
    return true
  },
  complaint: (error) => (error instanceof Difference ? `A difference.\n${error}` : error),
})
