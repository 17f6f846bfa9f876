// `npm start`: what a lock on Redis is worth, on a real Redis, in less than a minute.
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Redis } from 'ioredis'
import { Crew } from './crew.mjs'
import { drawPicture } from './picture.mjs'
import { DEMO_LIMIT_MS } from './settings.mjs'
import { perform, sweep } from './stage.mjs'
import { bold, green, red, table } from './terminal.mjs'
import { within } from './time.mjs'
import { provideRedis } from '../../scripts/redis/provide-redis.mjs'

const PICTURE = 'holdfast-demo.svg'
const CLEAN_UP_LIMIT_MS = 5_000
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGPIPE: 13, SIGTERM: 15 }

/** @type {keyof typeof SIGNAL_NUMBERS | undefined} */
let interrupted
const interruption = new Promise((_, reject) => {
  const interrupt = (signal) => {
    interrupted ??= signal
    reject(new Error(`interrupted by ${signal}`))
  }
  // Ending is left to the code below, which cleans up first.
  for (const signal of Object.keys(SIGNAL_NUMBERS)) process.on(signal, interrupt)
  // Whoever reads the output has gone: `npm start | head`.
  process.stdout.on('error', () => interrupt('SIGPIPE'))
})
interruption.catch(() => undefined)

let muted = false
const print = (line = '') => {
  if (!muted) console.log(line)
}

/** @param {string} url */
const connect = (url) => {
  const redis = new Redis(url, { maxRetriesPerRequest: 3 })
  // The command that fails says it as well.
  redis.on('error', () => undefined)
  return redis
}

/** @param {import('../../scripts/redis/provide-redis.mjs').ProvidedRedis} provided */
const run = async ({ url, how, isEmbedded = false }) => {
  const prefix = `holdfast-demo-${randomBytes(4).toString('hex')}`
  const redis = connect(url)
  const crew = new Crew(url)
  try {
    print(`${bold('Holdfast demo')} on ${isEmbedded ? `an ${how}` : `Redis (${how})`}`)
    print(`All keys begin with ${prefix}: and are deleted at the end.`)
    const limited = within(perform({ crew, redis, prefix, print }), DEMO_LIMIT_MS, 'end of the demo')
    return await Promise.race([limited, interruption])
  } finally {
    // Acts that still run after an interruption say nothing any more.
    muted = true
    await crew.stop()
    await within(sweep(redis, prefix), CLEAN_UP_LIMIT_MS, 'deletion of the keys').catch((error) =>
      console.error(`${error.message}; they expire within two minutes`),
    )
    redis.disconnect()
    muted = false
  }
}

const report = async ({ claims: all, panels, tookMs }, { how, isEmbedded = false }) => {
  // Times of the embedded engine say nothing about Redis: they are shown, and not judged.
  const claims = all.filter(({ isFigure = false }) => !(isEmbedded && isFigure))
  const resultOf = (claim) => (claims.includes(claim) ? (claim.ok ? 'ok' : 'FAILED') : 'not judged')
  const rows = all.map((each) => [each.claim, each.expected, each.seen, resultOf(each)])
  const colour = (cell, column) => {
    if (column !== 3 || cell === 'not judged') return cell
    return cell.startsWith('FAILED') ? red(cell) : green(cell)
  }
  print()
  print(table([['claim', 'expected', 'seen', 'result'], ...rows], colour))
  const failed = claims.filter(({ ok }) => !ok).length
  const seconds = (tookMs / 1_000).toFixed(1)
  print()
  print(
    failed === 0
      ? green(`All ${claims.length} claims hold (${seconds} s).`)
      : red(`${failed} of ${claims.length} claims FAILED (${seconds} s).`),
  )
  const file = resolve(PICTURE)
  const picture = drawPicture({ panels, how, held: claims.length - failed, claims: claims.length })
  await writeFile(file, picture).catch((error) => {
    throw new Error(`The picture cannot be written: ${error.message}`, { cause: error })
  })
  print(`Who held the lock when: ${file}`)
  return failed === 0 ? 0 : 1
}

const main = async () => {
  const provided = await provideRedis({ log: (line) => print(`redis: ${line}`), mayBeEmbedded: true })
  let played
  try {
    if (!interrupted) played = await run(provided)
  } finally {
    await provided.stop()
  }
  return played ? report(played, provided) : 1
}

let code = 1
try {
  code = await main()
} catch (error) {
  console.error(error.message)
}
// Without an exit, a connection that is left could hold the process.
process.exit(interrupted ? 128 + SIGNAL_NUMBERS[interrupted] : code)
