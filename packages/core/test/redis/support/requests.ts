import { commandsIn, type Matcher } from '@holdfast/faults/harness'
import type { Script } from '../../../src/redis/script.js'

/** Matches a chunk in which a client runs the script, by digest or text; `where` sees its ARGV. */
export function runsOf(script: Script, where: (argv: string[]) => boolean = () => true): Matcher {
  return (bytes) =>
    commandsIn(bytes).some(([name = '', code, keys, ...rest]) => {
      const isRun = /^eval(sha)?$/i.test(name) && (code === script.sha1 || code === script.lua)
      return isRun && where(rest.slice(Number(keys)))
    })
}

/** Matches a chunk in which a client runs any script by digest. */
export const runsAnything: Matcher = (bytes) =>
  commandsIn(bytes).some(([name = '']) => /^evalsha$/i.test(name))
