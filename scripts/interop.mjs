// Holdfast beside the real Redisson on one Redis. Needs a JDK 17 and Maven; without them it says so and skips.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const OLDEST_JDK = 17
const MODES = ['smoke', 'bench']

const USAGE = `Usage: npm run test:interop -- [--smoke] [options of Jest]

  --smoke     the plain and the fair lock only, and five seconds of contention
  --bench     no test: Holdfast beside Redisson, measured
  --brief     the bench for a moment: whether it works, its figures mean nothing
  --help

Exit code: 0 all held, or there is no JDK, Maven or Redisson; 1 otherwise.`

/** Why it cannot run here; undefined when it can. */
const missing = () => {
  const java = spawnSync('javac', ['-version'], { encoding: 'utf8' })
  const version = Number(/javac (\d+)/.exec(`${java.stdout}${java.stderr}`)?.[1])
  if (!(version >= OLDEST_JDK)) return `no JDK ${OLDEST_JDK} or newer on the PATH`
  return spawnSync('mvn', ['-version']).status === 0 ? undefined : 'no Maven on the PATH'
}

const run = (command, args, options) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', ...options })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })

/** @returns why there is no driver; undefined when there is */
const buildDriver = () => {
  const args = ['-q', '-B', '-f', 'packages/interop/java', 'package']
  const { status, stdout } = spawnSync('mvn', args, { cwd: ROOT, encoding: 'utf8' })
  if (status === 0) return undefined
  // Without a network is like without Maven. Anything else is a mistake of ours.
  if (/Could not (transfer|resolve|find) (artifact|dependencies)/.test(stdout)) {
    return 'Maven could not fetch Redisson'
  }
  throw new Error(`The driver in Java does not build:\n${stdout}`)
}

const runTests = (args, { path, mode, brief, signal }) => {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const jest = ['node_modules/jest/bin/jest.js', '-c', 'packages/interop/jest.config.js', '-i']
  const env = { ...process.env, PATH: path, HOLDFAST_INTEROP: mode, HOLDFAST_INTEROP_BRIEF: brief }
  return run(process.execPath, [...flags, ...jest, ...args], { env, signal })
}

const main = async (args) => {
  const why = missing() ?? buildDriver()
  if (why !== undefined) {
    console.log(`interop: skipped, ${why}`)
    return 0
  }
  const program = await provideServerProgram({ log: (line) => console.error(line) })
  const mode = MODES.find((each) => args.includes(`--${each}`)) ?? 'all'
  const brief = args.includes('--brief') ? '1' : ''
  const rest = args.filter((arg) => ![`--${mode}`, '--brief'].includes(arg))
  try {
    return await runTests(rest, { path: program.path, mode, brief, signal: interruption() })
  } finally {
    await program.remove()
  }
}

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(USAGE)
} else {
  process.exitCode = await main(args)
}
