import { expect } from '@jest/globals'
import { spawn } from 'node:child_process'
import { carrierPackage } from '../support/carrier.js'
import { lowered } from '../support/code-checks.js'
import { codeBlocks, pages, programs, root, type CodeBlock } from '../support/markdown.js'
import { redisUrl } from '../support/rig.js'
import { describe, it, useRig } from '../support/together.js'

// A database in WebAssembly among them, on a machine that is busy.
const PROGRAM_LIMIT_MS = 60_000
// The key that a program keeps beside its lock.
const DATA_KEY = 'order:42:state'

// The output of each program of the pages. The server of the tests has a lease that is a little older.
const OUTPUT: Record<string, RegExp> = {
  'README.md: Without a server': /^false false\nshipped\n$/,
  'README.md: First lock': /^order 42 shipped\n$/,
  'packages/core/README.md: Smallest example': /^42\n$/,
  'packages/core/README.md: In a service': /^reported\nran\nleads\ntoken of ada\n$/,
  'packages/holdfast/README.md: holdfast': /^order 42 shipped\n$/,
  'packages/core/skills/first-lock/SKILL.md: First lock': /^42\n$/,
  'packages/core/skills/lost-lock/SKILL.md: A lost lock':
    /^page 1\npage 2\npage 3\nwritten\nforced\nLOCK_LOST done too late\n$/,
  'packages/fence/skills/beside-a-database/SKILL.md: A lock beside a database': /^4\n$/,
  'packages/testing/skills/test-without-a-server/SKILL.md: Test without a server':
    /^LOCK_TIMEOUT\nLOCK_LOST\n$/,
  'docs/first-lock.md: Lock': /^order 42 shipped\n$/,
  'docs/first-lock.md: Limit the wait': /^order 42 shipped\n$/,
  'docs/first-lock.md: Limit the wait 2': /^order 42 shipped\nreleased\n$/,
  'docs/first-lock.md: Limit the wait 3': /^order 42 shipped\n$/,
  'docs/first-lock.md: React to a lost lock': /^\S+~[\w-]{21}:\d+ 1 5\d{4}(\.\d+)?\n$/,
  'docs/contexts.md: Contexts: who owns a lock': /^false\n$/,
  'docs/contexts.md: Contexts: who owns a lock 2': /^1\n$/,
  'docs/linger.md: A lock that stays': /^100 numbered\n$/,
  'docs/redisson-style-api.md: The Redisson-style API': /^5 (30000|2\d{4}) true\n$/,
  'docs/who-holds-a-lock.md: By asking': /^\S+ has the lock, (30000|2\d{4}) ms of lease left\n\d+ true\n$/,
  'docs/testing.md: Testing without a server': /^false false\nshipped\n$/,
  'docs/fencing.md: Fencing': /^shipped\n$/,
  'docs/fenced-lock.md: Use': /^shipped\n$/,
  'docs/fenced-lock.md: Use 2': /^true true\n$/,
}

/** The pages whose programs are all of these. */
const PROGRAM_PAGES = [...new Set(Object.keys(OUTPUT).map((name) => name.slice(0, name.indexOf(': '))))]

const dataUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`
const hooks = `export const resolve = (name, ...rest) => rest[1](name === 'ioredis' ? '${carrierPackage}' : name, rest[0])`
const registerHooks = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hooks))})`

/** Runs a program as a user would who pasted it into a file beside the package. */
function run(program: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const args = ['--import', dataUrl(registerHooks), '--input-type=module']
    const child = spawn(process.execPath, args, {
      cwd: root,
      timeout: PROGRAM_LIMIT_MS,
      killSignal: 'SIGKILL',
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += String(chunk)))
    child.stderr.on('data', (chunk) => (stderr += String(chunk)))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(program)
  })
}

describe('the programs of the pages', () => {
  const harness = useRig({ redis: 'all' })
  const all = PROGRAM_PAGES.flatMap(programs)
  const nameOf = ({ file, title }: CodeBlock): string => `${file}: ${title}`

  it('are the ones whose output is known', () => {
    expect(all.map(nameOf)).toEqual(Object.keys(OUTPUT))
  })

  it.each(all.map((block) => [nameOf(block), block.code] as const))(
    '%s',
    async (name, code) => {
      expect(code).toMatch(/LockClient\.connect\('redis:\/\/localhost:6379'\)|new TestRedis\(\)/)
      const program = code.includes('new TestRedis()')
        ? lowered(code)
        : lowered(code)
            .replaceAll('redis://localhost:6379', redisUrl)
            .replaceAll(/(?<=get\w*Lock\(')[^']*/g, (lock) => harness.name(lock))
            .replaceAll(DATA_KEY, harness.name(DATA_KEY))
      const { stderr, ...result } = await run(program)
      await harness.admin.del(harness.name(DATA_KEY))
      expect(stderr).toBe('')
      expect(result).toEqual({ code: 0, stdout: expect.stringMatching(OUTPUT[name]!) })
    },
    PROGRAM_LIMIT_MS,
  )
})

/** The code that examples of a page need and the page leaves out, and their output. */
interface Page {
  readonly given?: string
  /** Code that makes the last program, which goes on, do something and end. */
  readonly end?: string
  readonly change?: (code: string) => string
  readonly prints: RegExp
  /** The output of a second run, where it is another. */
  readonly again?: RegExp
}

const IMPORT = "import { LockClient } from '@holdfast/core'\n"
const SERVE = `
const server = app.listen(0)
await new Promise((resolve) => server.on('listening', resolve))
for (let time = 0; time < 2; time += 1) {
  const url = 'http://127.0.0.1:' + server.address().port + '/orders/42/pay'
  console.log(await (await fetch(url, { method: 'POST' })).text())
}
server.closeAllConnections()
server.close()
await locks.close()`
const RUN_TICKS = `
await job.trigger()
await job.trigger()
job.stop()
await locks.close()`
const USE_ONCE = `
console.log(await locks.getLock('order:42').withLock(() => 'shipped'))
await locks.close()
redis.destroy()`
const TWICE = /^(.+\n)\1$/

const PAGES: Record<string, Page> = {
  'docs/beside-other-locks.md': {
    change: (code) => `${code}\nconsole.log(1)\nawait locks.close()`,
    prints: TWICE,
  },
  'docs/clients.md': { given: IMPORT, end: USE_ONCE, prints: /^shipped\n$/ },
  'docs/count-down-latch.md': {
    change: (code) =>
      code.replace('await ready.countDown()', 'for (const _ of "abc") await ready.countDown()'),
    prints: /^$/,
  },
  'docs/election.md': {
    // A callback that returned at once would lead again, a second later.
    given: 'const bill = ({ signal }) => new Promise((done) => signal.addEventListener("abort", done))\n',
    prints:
      /^(nobody leads\n)?(leads with token \d+\n(nobody leads\n)?\S+ leads, ask http:\/\/worker-7:8080\n|\S+ leads, ask http:\/\/worker-7:8080\nleads with token \d+\n)$/,
  },
  'docs/fair-lock.md': { given: 'const work = async () => console.log(1)', prints: TWICE },
  'docs/share.md': {
    prints: /^token-1 token-1 1\ntoken-1 1\ntoken-2 2\n(a secret token\n){2}$/,
    // The first run kept these.
    again: /^token-2 token-2 0\ntoken-2 0\ntoken-1 1\n/,
  },
  'docs/choosing.md': { given: 'const refill = async () => console.log(1)', prints: TWICE },
  'docs/errors.md': { prints: /^$/ },
  'docs/handover.md': { prints: /^order 42 paid\norder 42 shipped\n$/ },
  'docs/index.md': { prints: /^order 42 shipped\n$/ },
  'docs/multi-lock.md': { prints: /^\[ 'account:1', 'account:2' \]\n$/ },
  'docs/non-reentrant-lock.md': {
    given: 'const work = async () => undefined',
    change: (code) => `try { ${code} } catch (error) { console.log(error.code) }`,
    prints: /^(NOT_REENTRANT\n){2}$/,
  },
  'docs/read-write-lock.md': {
    given: 'const [read, write] = [() => console.log(1), () => undefined]',
    prints: TWICE,
  },
  'docs/schedule.md': {
    end: RUN_TICKS,
    prints: /kind: 'ran'[^]*kind: '(ran|skipped)'/,
    // In the same second it finds its tick done.
    again: /kind: '(ran|skipped)'[^]*kind: '(ran|skipped)'/,
  },
  'docs/semaphores.md': {
    given: 'const [print, signal] = [async () => undefined, undefined]',
    // It waits in vain.
    change: (code) => code.replace('pool.tryAcquire(2, 3_000)', 'pool.tryAcquire(2, 1_000)'),
    prints: /^(0 3 false false\ntrue\n){2}$/,
  },
  'docs/services.md': { end: SERVE, prints: /^({"paid":"42"}\n){2}$/ },
  'docs/spin-lock.md': { given: 'const work = async () => console.log(1)', prints: TWICE },
}

/** Why the examples of a page are not run here. */
const NOT_RUN: Record<string, string> = {
  'docs/architecture.md': 'they are lines of the source, which a unit test compares',
  'docs/board.md': 'they are run by the tests of the board',
  'docs/deployment.md': 'they need a cluster, and replicas',
  'docs/next.md': 'they need Next.js',
  'docs/queues.md': 'they need a queue',
  'docs/redlock.md': 'they need three servers',
  'docs/telemetry.md': 'they need an exporter',
}

describe('the examples of the other pages', () => {
  const rig = useRig()

  /** A block with imports is a program; others go on from each other, and are one, in which all is done twice. */
  function programsOf(file: string): string[] {
    const { given = '', end = '', change = (code: string) => code } = PAGES[file]!
    const blocks = codeBlocks(file)
      .filter(({ mark }) => mark !== 'no-run')
      .map(({ code }) => code)
      // There is no cluster here.
      .filter((code) => !code.includes('createCluster('))
    if (blocks.every((code) => /^import /m.test(code))) {
      return blocks.map((code, i) => `${given}${change(code)}${i === blocks.length - 1 ? end : ''}`)
    }
    const connect = `${IMPORT}const locks = await LockClient.connect('redis://localhost:6379')\n${given}\n`
    const body = change(blocks.join('\n'))
    return [`${connect}for (const _time of ['first', 'second']) {\n${body}\n}\nawait locks.close()\n`]
  }

  it('are those of every page that has any', () => {
    const files = pages.filter((file) => /^docs\/[\w-]+\.md$/.test(file) && codeBlocks(file).length > 0)
    const above = PROGRAM_PAGES.filter((file) => file.startsWith('docs/'))
    expect([...above, ...Object.keys(PAGES), ...Object.keys(NOT_RUN)].sort()).toEqual(files.sort())
  })

  it.each(Object.keys(PAGES))('%s', async (file) => {
    const { prints, again } = PAGES[file]!
    for (const printed of [prints, ...(again ? [again] : [])]) {
      const results = []
      for (const code of programsOf(file)) {
        results.push(await run(lowered(code).replaceAll('redis://localhost:6379', rig.server.url)))
      }
      expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
        results.map(() => ({ code: 0, stderr: '' })),
      )
      expect(results.map(({ stdout }) => stdout).join('')).toMatch(printed)
    }
    // Permits stay, and what a schedule knows of its ticks; no lock does.
    const types = await Promise.all((await rig.keysLeft()).map((key) => rig.admin.type(key)))
    expect(types.filter((type) => type === 'hash')).toEqual([])
    await rig.admin.flushall()
  })
})
