// The libraries of other languages: what is fetched of them, into the cache, and how their program is started.
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  cachedFolder,
  fetched,
  fingerprint,
  MAVEN_IS_AWAY,
  requireProgram,
} from '../../../../scripts/support/cache.mjs'

const REDIS_PY = '8.1.0'
const sources = (name) => fileURLToPath(new URL(`../../others/${name}/`, import.meta.url))
const PACKAGE = ['-q', '-B', 'package', '-f']
const WARNINGS = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'

/** A folder of the cache whose name is that of the sources it was built of: a change of them builds another. */
async function built(language, files, build) {
  const texts = await Promise.all(files.map((file) => readFile(join(sources(language), file))))
  return cachedFolder(`beside/${language}-${fingerprint(...texts)}`, build)
}

async function python() {
  await requireProgram('python3 with pip', 'python3', ['-m', 'pip', '--version'])
  const folder = await built('python', ['turns.py'], ({ part }) =>
    fetched('redis-py', 'python3', [
      ...['-m', 'pip', 'install', '--quiet', '--no-deps', '--root-user-action', 'ignore'],
      ...['--target', part, `redis==${REDIS_PY}`],
    ]),
  )
  return { command: 'python3', args: [join(sources('python'), 'turns.py')], env: { PYTHONPATH: folder } }
}

async function go() {
  await requireProgram('Go', 'go', ['version'])
  const files = ['go.mod', 'go.sum', 'main.go']
  const folder = await built('go', files, async ({ part, download }) => {
    // In a copy: Go may not write to the sources.
    for (const file of files) await copyFile(join(sources('go'), file), join(download, file))
    await fetched("Go's modules", 'go', ['build', '-o', join(part, 'turns'), '.'], {
      cwd: download,
      // None of the compiler's lines begins so.
      whenAway: /^go: /m,
    })
  })
  return { command: join(folder, 'turns'), args: [] }
}

async function java() {
  await requireProgram('JDK', 'javac', ['-version'])
  await requireProgram('Maven', 'mvn', ['-version'])
  const files = ['pom.xml', 'src/main/java/holdfast/beside/Turns.java']
  const folder = await built('java', files, ({ part }) =>
    fetched('the libraries of Java', 'mvn', [...PACKAGE, sources('java'), `-Dbeside.out=${part}`], {
      whenAway: MAVEN_IS_AWAY,
    }),
  )
  const path = [join(folder, 'classes'), join(folder, 'lib', '*')].join(':')
  return { command: 'java', args: [WARNINGS, '-cp', path, 'holdfast.beside.Turns'] }
}

/** @type {Record<string, () => Promise<{ command: string, args: string[], env?: Record<string, string> }>>} */
export const PROGRAMS = { python, go, java }
