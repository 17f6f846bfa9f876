// The way to the fault programs of packages/faults, with a server program on the PATH: `npm run faults -- --help`.
import { interruption } from './interruption.mjs'
import { withServerProgram } from './redis/server-program.mjs'

const { main } = await import('@holdfast/faults')
const code = await withServerProgram(() => main(process.argv.slice(2), interruption()))
process.exitCode ||= code
