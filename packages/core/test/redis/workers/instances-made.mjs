import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { Redis } from 'ioredis'
import ts from 'typescript'

// Tells what one uncontended acquire and its release make instances of. Every class of Holdfast notes its instances
// here: a field that is put in front of all others runs for each of them, whether the class has a constructor or not.
const { url, name } = JSON.parse(process.argv[2])
const ours = /packages[\\/](core|waiter|watchdog)[\\/](build|dist)[\\/].*\.js$/

let made = new Set()
globalThis.noteInstance = (instance) => void made.add(instance)

const noting = (source) => {
  const file = ts.createSourceFile('module.js', source, ts.ScriptTarget.Latest, true)
  const bodies = []
  const visit = (node) => {
    if (ts.isClassLike(node))
      bodies.push(source.indexOf('{', node.heritageClauses?.end ?? node.name?.end ?? node.pos))
    ts.forEachChild(node, visit)
  }
  visit(file)
  return bodies
    .sort((one, other) => other - one)
    .reduce(
      (text, at) => `${text.slice(0, at + 1)} #noted = globalThis.noteInstance(this);${text.slice(at + 1)}`,
      source,
    )
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-instances-'))
try {
  const outfile = join(folder, 'noting.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('../../../build/index.js', import.meta.url))],
    ...{ outfile, bundle: true, format: 'esm', platform: 'node', target: 'es2022', keepNames: true },
    external: ['ioredis', 'redis'],
    // The package as it was built, which users get, and not the sources that `paths` names.
    tsconfigRaw: {},
    plugins: [
      {
        name: 'noting',
        setup: ({ onLoad }) =>
          onLoad({ filter: ours }, ({ path }) => ({ contents: noting(readFileSync(path, 'utf8')) })),
      },
    ],
  })
  const { LockClient } = await import(pathToFileURL(outfile).href)
  const redis = new Redis(url)
  const locks = await LockClient.connect(redis, { bareCalls: 'allow' })
  const lock = locks.getLock(name)
  // Objects that are made once: the scripts, the timers that all calls share.
  for (let i = 0; i < 3; i += 1) await (await lock.acquire()).release()

  const instancesOf = async (call) => {
    made = new Set()
    const result = await call()
    return { result, names: [...made].map((each) => each.constructor.name) }
  }
  const acquired = await instancesOf(() => lock.acquire())
  const released = await instancesOf(() => acquired.result.release())
  process.stdout.write(JSON.stringify({ acquire: acquired.names, release: released.names }))
  await locks.close()
  redis.disconnect()
} finally {
  rmSync(folder, { recursive: true })
}
