import { spawn } from 'node:child_process'

/**
 * Runs a program to its end and gives what it wrote to stdout. Rejects with all its output when it fails, and
 * with an error of code ENOENT when there is no such program. Killed at its limit the error has `isLate`.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ env?: Record<string, string | undefined>, limitMs?: number, cwd?: string, signal?: AbortSignal, shell?: boolean }} [options]
 *   added environment, time limit in ms, folder to run in, what ends it, whether a shell finds the program
 * @returns {Promise<string>}
 */
export const run = (program, args, { env = {}, limitMs = 0, ...how } = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...how,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    // Not spawn's own time limit: its timer goes on, and holds the process, where there is no such program.
    let isLate = false
    const kill = () => {
      isLate = true
      child.kill('SIGKILL')
      // Its own children may have them still, and wait for ever.
      child.stdout.destroy()
      child.stderr.destroy()
    }
    const killer = limitMs > 0 ? setTimeout(kill, limitMs) : undefined
    let [stdout, output] = ['', '']
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk)
      output += String(chunk)
    })
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    child.on('error', (error) => {
      clearTimeout(killer)
      reject(error)
    })
    child.on('close', (code, signal) => {
      clearTimeout(killer)
      if (code === 0) resolve(stdout)
      else {
        const why = isLate ? `killed at its limit of ${limitMs / 1_000} s` : (signal ?? `code ${code}`)
        const error = new Error(`${program} ${args.join(' ')} failed (${why})\n${output.trim()}`)
        reject(Object.assign(error, { isLate }))
      }
    })
  })

/**
 * Whether a program answers at all, as with `--version` or `info`.
 *
 * @param {string} program
 * @param {string[]} args
 */
export const works = (program, args) =>
  run(program, args, { limitMs: 10_000 }).then(
    () => true,
    () => false,
  )
