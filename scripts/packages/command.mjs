import { run } from '../redis/run.mjs'
import { PATIENCE } from '../support/attempts.mjs'

/** A compiler of half a minute takes ten times as long with what CI leaves it of the processors. */
const LIMIT_MS = 900_000
/** `npm run` tells its children which project they are in; these are in another. */
const OF_NPM =
  /^(npm_(package|lifecycle)_|INIT_CWD$|npm_config_(local_prefix|workspace|prefix|global_prefix))/i

/**
 * Runs a program of another project to its end, as `run` does, for a quarter of an hour at most or until the signal aborts.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, signal: AbortSignal, env?: Record<string, string>, limitMs?: number }} options
 * @returns {Promise<string>} what it wrote to stdout
 */
export const command = (program, args, { cwd, signal, env = {}, limitMs = LIMIT_MS }) => {
  const left = Object.keys(process.env).filter((name) => OF_NPM.test(name))
  const outsideNpm = Object.fromEntries(left.map((name) => [name, undefined]))
  // npm is a script there, and no program.
  const shell = process.platform === 'win32'
  return run(program, args, { cwd, signal, env: { ...outsideNpm, ...PATIENCE, ...env }, limitMs, shell })
}
