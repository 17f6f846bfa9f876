#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { main } from '../dist/index.js'

const ENDED_BY_SIGNAL = 128

const guardian = fileURLToPath(new URL('guardian.mjs', import.meta.url))
const code = await main(process.argv.slice(2), { guardian })
process.exitCode = code
if (code > ENDED_BY_SIGNAL) {
  // An attempt to connect, which the signal has ended, has timers for as long as --timeout: nobody waits for it.
  setTimeout(() => process.exit(code), 50).unref()
}
