import { spawn } from 'node:child_process'

const LIMIT_MS = 300_000

/**
 * Runs a program to its end and gives all it wrote. Rejects with that when it fails, takes more than five minutes,
 * or when the signal aborts.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, signal: AbortSignal, env?: Record<string, string> }} options
 * @returns {Promise<{ stdout: string, output: string }>}
 */
export const command = (program, args, { cwd, signal, env = {} }) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      signal,
      env: { ...outsideNpm(process.env), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      // npm is a script there, and no program.
      shell: process.platform === 'win32',
    })
    let [stdout, output] = ['', '']
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk)
      output += String(chunk)
    })
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    child.on('error', reject)
    child.on('close', (code, how) => {
      if (code === 0) resolve({ stdout, output })
      else reject(new Error(`${program} ${args.join(' ')} (${how ?? `exit code ${code}`})\n${output.trim()}`))
    })
  })

/** `npm run` tells its children which project they are in; these are in another. */
const outsideNpm = (env) =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) =>
        !/^(npm_(package|lifecycle)_|INIT_CWD$|npm_config_(local_prefix|workspace|prefix|global_prefix))/i.test(
          name,
        ),
    ),
  )
