// The way to the fault programs of packages/faults, with a server program on the PATH: `npm run faults -- --help`.
import { provideServerProgram } from './redis/server-program.mjs'

const { main } = await import('@holdfast/faults')
const program = await provideServerProgram({ log: (line) => console.error(line) })
process.env.PATH = program.path
try {
  process.exitCode ||= await main(process.argv.slice(2))
} finally {
  await program.remove()
}
