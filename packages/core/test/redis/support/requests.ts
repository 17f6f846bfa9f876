import type { Matcher } from '@holdfast/testing'
import type { Script } from '../../../src/scripts/define-script.js'

/** Matches a chunk in which a client runs the script, by digest or text; `where` sees its ARGV. */
export function runsOf(script: Script, where: (argv: string[]) => boolean = () => true): Matcher {
  return (bytes) =>
    commandsIn(bytes).some(([name = '', code, keys, ...rest]) => {
      const isRun = /^eval(sha)?$/i.test(name) && (code === script.sha1 || code === script.lua)
      return isRun && where(rest.slice(Number(keys)))
    })
}

/** Matches a chunk in which a client runs any script by digest. */
export const runsAnything: Matcher = (bytes) => commandsIn(bytes).some(([name]) => name === 'evalsha')

/** The whole commands at the start of what a client sent. */
function commandsIn(bytes: Buffer): string[][] {
  const commands: string[][] = []
  let at = 0
  const line = (): string => {
    const end = bytes.indexOf('\r\n', at)
    const text = end < 0 ? '' : bytes.toString('utf8', at, end)
    at = end < 0 ? bytes.length : end + 2
    return text
  }
  while (at < bytes.length) {
    const parts = Number(line().slice(1))
    const command: string[] = []
    for (let i = 0; i < parts && at < bytes.length; i += 1) {
      const length = Number(line().slice(1))
      command.push(bytes.toString('utf8', at, at + length))
      at += length + 2
    }
    if (command.length === parts) {
      commands.push(command)
    }
  }
  return commands
}
