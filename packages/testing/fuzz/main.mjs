// Random programs on the engine of @holdfast/testing and on real servers: what it answers is what they answer.
import { RedisServer } from '@holdfast/faults/harness'
import { parseArguments, USAGE } from './arguments.mjs'
import { holdAgainst, Pair } from './hold-against.mjs'
import { failureText } from './print.mjs'
import { releaseOf } from './releases.mjs'
import { RealSide } from './real-side.mjs'
import { interruption } from '../../../scripts/interruption.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'
import { serverBinary } from '../../../scripts/servers/server-binary.mjs'

const interrupted = interruption()
const log = (line) => console.error(line)

// Hashes stay in the order in which their fields came: scripts that read one without an order then see the same one.
const HASHES = ['--hash-max-listpack-entries', '100000', '--hash-max-listpack-value', '100000']

/** @returns {Promise<boolean>} */
const runOn = async (name, { seed, operations }) => {
  const [family, release] = name.split('-')
  const found = await serverBinary(family, release, { log })
  if (found.reason !== undefined) {
    console.log(`${name}: not run: ${found.reason}`)
    return true
  }
  const server = await RedisServer.start({ binary: found.path, args: HASHES })
  try {
    const real = await RealSide.on(server)
    const startedAt = performance.now()
    const extent = { seed, operations, signal: interrupted }
    const outcome = await holdAgainst(new Pair(real, releaseOf(name)), extent)
    real.close()
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    const told = `${outcome.operations} operations in ${outcome.programs} programs of seed ${seed}, ${seconds} s`
    const { byTheClock, different } = outcome
    if (different.length === 0) {
      console.log(
        `${name} ${found.version}: no difference: ${told}; ${byTheClock} ran again because of the clock`,
      )
      return true
    }
    console.log(`${name} ${found.version}: ${different.length} programs that differ: ${told}`)
    for (const each of different) {
      console.log(`\nprogram ${each.number}, the shortest that shows it:\n${failureText(each, name)}`)
    }
    return false
  } finally {
    await server.stop()
  }
}

await runCommand({
  ...{ parseArguments, USAGE },
  run: async (wanted) => {
    const held = await Promise.all(wanted.servers.map((name) => runOn(name, wanted)))
    return held.every(Boolean) && !interrupted.aborted
  },
})
