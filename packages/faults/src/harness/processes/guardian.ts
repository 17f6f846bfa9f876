import { spawn } from 'node:child_process'
import { Socket } from 'node:net'

// `read` ends when the last writer of the pipe, which is this process, is gone. A handler for the 'exit'
// event would not do: it does not run on SIGKILL, nor inside Jest, whose `process` is a copy.
const WAIT_FOR_OUR_END = `trap '' INT TERM HUP; read -r _;`

/**
 * Has a shell command run when this process has ended in whatever way without having called it off.
 *
 * @param command for sh, with the arguments as "$1", "$2", ...
 * @returns calls it off
 */
export const whenWeAreGone = (command: string, args: readonly string[]): (() => void) => {
  const guardian = spawn('/bin/sh', ['-c', `${WAIT_FOR_OUR_END} ${command}`, 'holdfast-guardian', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C in the terminal must not take the guardian first.
  })
  // Where there is no sh, clean-up after a kill is all that is missing.
  guardian.on('error', () => undefined)
  guardian.unref()
  if (guardian.stdin instanceof Socket) guardian.stdin.unref()
  return () => void guardian.kill('SIGKILL')
}

const KILL = `kill -9 "$1" 2>/dev/null
if [ -n "$2" ]; then rm -rf "$2" || { sleep 1; rm -rf "$2"; }; fi`

/**
 * Kills the process `pid`, even a stopped one, when this process ends in whatever way, and then removes
 * `folder`. Call it off as soon as `pid` has ended, since numbers are used again.
 */
export const dieWithParent = (pid: number, folder = ''): (() => void) =>
  whenWeAreGone(KILL, [String(pid), folder])
