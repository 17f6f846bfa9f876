// The libraries of other languages: what is fetched of them, into the cache, and how their program is started.
import { createHash } from 'node:crypto'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run, works } from '../../../../scripts/redis/run.mjs'
import { cacheFolder, exists, makeFolder, NotAvailable } from '../../../../scripts/support/cache.mjs'

const LIMIT_MS = 300_000
const REDIS_PY = '8.1.0'
const sources = (name) => fileURLToPath(new URL(`../../others/${name}/`, import.meta.url))
const WARNINGS = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'

/** A folder of the cache whose name is that of the sources it was built of: a change of them builds another. */
async function built(language, files, build) {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(join(sources(language), file)))
  const parent = join(cacheFolder(), 'beside')
  await mkdir(parent, { recursive: true })
  const folder = join(parent, `${language}-${hash.digest('hex').slice(0, 12)}`)
  if (!(await exists(folder))) await makeFolder(folder, build)
  return folder
}

const needs = async (what, program, args) => {
  if (!(await works(program, args))) throw new NotAvailable(`no ${what} on the PATH`)
}

/** What the client of a registry could not fetch, or could not build, is said with its last line. */
const fetched = async (program, args, options) => {
  try {
    await run(program, args, { limitMs: LIMIT_MS, ...options })
  } catch (error) {
    throw new NotAvailable(`${program}: ${error.message.split('\n').at(-1).trim()}`, { cause: error })
  }
}

async function python() {
  await needs('python3 with pip', 'python3', ['-m', 'pip', '--version'])
  const folder = await built('python', ['turns.py'], ({ part }) =>
    fetched('python3', [
      ...['-m', 'pip', 'install', '--quiet', '--no-deps', '--root-user-action', 'ignore'],
      ...['--target', part, `redis==${REDIS_PY}`],
    ]),
  )
  return { command: 'python3', args: [join(sources('python'), 'turns.py')], env: { PYTHONPATH: folder } }
}

async function go() {
  await needs('Go', 'go', ['version'])
  const files = ['go.mod', 'go.sum', 'main.go']
  const folder = await built('go', files, async ({ part, download }) => {
    // In a copy: Go may not write to the sources.
    for (const file of files) await copyFile(join(sources('go'), file), join(download, file))
    await fetched('go', ['build', '-o', join(part, 'turns'), '.'], { cwd: download })
  })
  return { command: join(folder, 'turns'), args: [] }
}

async function java() {
  await needs('JDK', 'javac', ['-version'])
  await needs('Maven', 'mvn', ['-version'])
  const files = ['pom.xml', 'src/main/java/holdfast/beside/Turns.java']
  const folder = await built('java', files, ({ part }) =>
    fetched('mvn', ['-q', '-B', '-f', sources('java'), 'package', `-Dbeside.out=${part}`]),
  )
  const path = [join(folder, 'classes'), join(folder, 'lib', '*')].join(':')
  return { command: 'java', args: [WARNINGS, '-cp', path, 'holdfast.beside.Turns'] }
}

/** @type {Record<string, () => Promise<{ command: string, args: string[], env?: Record<string, string> }>>} */
export const PROGRAMS = { python, go, java }
