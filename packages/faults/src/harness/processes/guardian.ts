import { spawn } from 'node:child_process'
import { Socket } from 'node:net'

// `read` ends when the last writer of the pipe, which is this process, is gone. A handler for the 'exit'
// event would not do: it does not run on SIGKILL, nor inside Jest, whose `process` is a copy.
const SCRIPT = `trap '' INT TERM HUP
read -r _
kill -9 "$1" 2>/dev/null
if [ -n "$2" ]; then rm -rf "$2" || { sleep 1; rm -rf "$2"; }; fi`

/**
 * Kills the process `pid`, even a stopped one, when this process ends in whatever way, and then removes
 * `folder`. `dismiss` calls the guard off; do so as soon as `pid` has ended, since numbers are used again.
 */
export const dieWithParent = (pid: number, folder = ''): { dismiss(): void } => {
  const guardian = spawn('/bin/sh', ['-c', SCRIPT, 'holdfast-guardian', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C in the terminal must not take the guardian first.
  })
  guardian.on('error', (error) => {
    process.emitWarning(`process ${pid} may outlive its parent: ${error.message}`)
  })
  guardian.unref()
  if (guardian.stdin instanceof Socket) guardian.stdin.unref()
  return { dismiss: () => void guardian.kill('SIGKILL') }
}
