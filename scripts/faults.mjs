// The way to the fault programs of packages/faults, with a server program on the PATH: `npm run faults -- --help`.
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const { main } = await import('@holdfast/faults')
const log = (line) => console.error(line)
const args = process.argv.slice(2)
const program = await provideServerProgram({ log })
process.env.PATH = program.path
try {
  process.exitCode ||= await main(args, interruption())
} finally {
  await program.remove()
}
