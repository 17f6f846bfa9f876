// The way to the fault programs of packages/faults, with a server program on the PATH: `npm run faults -- --help`.
import { interruption } from './interruption.mjs'
import { installFaketime } from './redis/from-package-manager.mjs'
import { works } from './redis/run.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const { main } = await import('@holdfast/faults')
const log = (line) => console.error(line)
const args = process.argv.slice(2)
const program = await provideServerProgram({ log })
process.env.PATH = program.path
// Where it cannot be installed, the clock of Redis is not set, and that is said.
const setsClock = args[0] === 'failover' && !args.includes('--help')
if (setsClock && !(await works('faketime', ['--version']))) await installFaketime({ log }).catch(log)
try {
  process.exitCode ||= await main(args, interruption())
} finally {
  await program.remove()
}
