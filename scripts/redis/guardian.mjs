import { spawn } from 'node:child_process'

// `read` ends when this process is gone, however it ended.
const WAIT_FOR_OUR_END = `trap '' INT TERM HUP; read -r _;`

/**
 * Has a shell command run when this process is gone without having called it off: what stops a server cannot run
 * in a process that was killed.
 *
 * @param {string} command for sh, with the arguments as "$1", "$2", ...
 * @param {string[]} args
 * @returns {() => void} calls it off
 */
export const whenWeAreGone = (command, args) => {
  const guardian = spawn('/bin/sh', ['-c', `${WAIT_FOR_OUR_END} ${command}`, 'holdfast-guardian', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a group of its own, which Ctrl-C does not reach.
    detached: true,
  })
  // Where there is no sh, clean-up after a kill is all that is missing.
  guardian.on('error', () => undefined)
  return () => void guardian.kill('SIGKILL')
}
