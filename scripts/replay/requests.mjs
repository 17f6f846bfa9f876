import { commandsIn } from '@holdfast/testing'
import { renewScript } from '../../packages/core/build/scripts/lock.js'

const scriptsIn = (bytes) =>
  commandsIn(bytes)
    .filter(([name]) => /^eval(sha)?$/i.test(name))
    .map(([, code, count, ...rest]) => ({
      code,
      keys: rest.slice(0, Number(count)),
      argv: rest.slice(Number(count)),
    }))

/** Matches a chunk with a script that touches the lock. */
export const isAbout = (lock) => (bytes) => scriptsIn(bytes).some(({ keys }) => keys.includes(lock))

/** Matches a chunk with a renewal for this lease: `hold.extend` uses the same script with another. */
export const isRenewal = (leaseMs) => (bytes) =>
  scriptsIn(bytes).some(
    ({ code, argv }) => [renewScript.sha1, renewScript.lua].includes(code) && argv[0] === `${leaseMs}`,
  )
