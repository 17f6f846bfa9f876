// The way to the simulator of packages/faults: `npm run simulate -- --help`. It needs no Redis.
import { interruption } from './interruption.mjs'

const { main } = await import('@holdfast/faults/simulator')
process.exitCode ||= await main(process.argv.slice(2), interruption())
