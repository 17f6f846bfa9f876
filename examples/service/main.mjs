// Two processes of the service, shoppers who pay twice, and a kill -9. With --keep it goes on until Ctrl-C.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Fleet } from './demo/fleet.mjs'
import { Sandbox } from './demo/sandbox.mjs'
import { createOrder, pay, payEverywhere, stateOf } from './demo/shopper.mjs'

const PREFIX = 'service-example'
const [ORDERS, ORDERS_OF_THE_KILL] = [12, 10]
const isKept = process.argv.includes('--keep')
const redisUrl = process.env.REDIS_URL ?? 'redis://localhost:6379'
// Short, so that what a killed process held is free after two seconds.
const leaseMs = Number(process.env.LEASE_MS ?? 2_000)
const ports = process.env.PORT ? [Number(process.env.PORT), Number(process.env.PORT) + 1] : [0, 0]
const password = process.env.BOARD_PASSWORD ?? randomBytes(6).toString('hex')

const sandbox = new Sandbox()
const fleet = new Fleet({
  REDIS_URL: redisUrl,
  KEY_PREFIX: PREFIX,
  LEASE_MS: String(leaseMs),
  SWEEP_AT: '* * * * * *',
  PARTNERS_URL: await sandbox.listen(),
  BOARD_PASSWORD: password,
})
let isRight = true
const tell = (holds, text) => {
  isRight &&= holds
  console.log(`${holds ? 'as it should be' : 'NOT as it should be'}: ${text}`)
}

async function play() {
  await forget()
  const [a, b] = await Promise.all(['a', 'b'].map((name, i) => fleet.start(name, ports[i])))
  const orders = [
    ...(await payTwice([a, b])),
    ...(await payWhileBusy([a, b])),
    ...(await killWhileShipping()),
  ]
  await waitUntilShipped(orders)
  await lookBack(orders)
}

async function payTwice(urls) {
  const { ids, answers } = await payEverywhere(urls, ORDERS)
  const paid = answers.filter(({ status }) => status === 200).length
  const asked = requestsFor(sandbox.charges, ids)
  const text = `${ORDERS} orders, each paid at both processes at once: ${paid} answers "paid", the bank was asked ${asked} times`
  tell(paid === 2 * ORDERS && asked === ORDERS, text)
  return ids
}

async function payWhileBusy([a, b]) {
  const id = await createOrder(a)
  sandbox.chargeMs = 1_500
  const first = pay(a, id)
  await sleep(200)
  const leaving = new AbortController()
  const gone = pay(b, id, leaving.signal).catch((error) => error.name)
  const refused = pay(b, id)
  await sleep(200)
  leaving.abort()
  const { status, headers } = await refused
  const retry = headers.get('retry-after')
  sandbox.chargeMs = 150
  tell(status === 409 && retry === '1', `a payment while another is slow: ${status}, Retry-After: ${retry}`)
  await gone
  const aborted = await metricOf(b, 'holdfast_lock_acquisitions_total', 'outcome="aborted"')
  tell(aborted === 1, `a client went away while it waited: ${aborted} wait ended with it`)
  tell((await first).status === 200, 'the slow payment was made')
  return [id]
}

async function killWhileShipping() {
  // So slow that many parcels are still to come when all payments are answered.
  sandbox.parcelMs = 800
  const { ids } = await payEverywhere(fleet.urls, ORDERS_OF_THE_KILL)
  const [{ order, pid }] = await once(sandbox, 'parcel')
  const { name, port } = await fleet.kill(pid)
  sandbox.parcelMs = 150
  await fleet.start('c', port)
  console.log(
    `kill -9: process ${name}, while order ${order.slice(0, 8)} is shipped; process c takes its place`,
  )
  return ids
}

async function waitUntilShipped(ids) {
  const startedAt = performance.now()
  let left = ids
  while (left.length > 0 && performance.now() - startedAt < 10 * leaseMs) {
    await sleep(50)
    const states = await Promise.all(left.map((id) => stateOf(fleet.urls[0], id)))
    left = left.filter((_, i) => states[i] !== 'shipped')
  }
  tell(left.length === 0, `${ids.length - left.length} of ${ids.length} orders are shipped`)
}

async function lookBack(ids) {
  const { charges, parcels, overlaps, logins } = sandbox
  const again = requestsFor(parcels, ids) - ids.length
  tell(requestsFor(charges, ids) === ids.length, `no order was paid twice: ${charges.size} charges`)
  // The killed process had a parcel at one dock or at both.
  const isAgain = again === 1 || again === 2
  const text = `no order was shipped twice: ${parcels.size} parcels, ${again} asked for again after the kill`
  tell(parcels.size === ids.length && isAgain, text)
  tell(overlaps === 0, `two parcels at one dock: ${overlaps} times`)
  tell(logins === 1, `one access token for three processes: ${logins} login`)
  const ticks = fleet.log.filter(({ msg }) => msg === 'swept').map(({ tick }) => tick)
  tell(ticks.length > 2 && new Set(ticks).size === ticks.length, 'each tick of the sweep ran in one process')
  const [url] = fleet.urls
  const board = `${url}/locks/`
  const authorization = `Basic ${btoa(`operator:${password}`)}`
  const [open, closed] = [await fetch(board, { headers: { authorization } }), await fetch(board)]
  tell(open.status === 200 && closed.status === 401, `the board: ${board}, operator, ${password}`)
  const granted = await metricOf(url, 'holdfast_lock_acquisitions_total', '"payment:*"')
  tell(granted > 0, `the metrics: ${url}/metrics, payment:* was acquired ${granted} times`)
}

/** Some traffic, so that the board has something to show. */
async function keep() {
  console.log('This goes on until Ctrl-C.')
  // Slow enough for a person to see.
  Object.assign(sandbox, { chargeMs: 800, parcelMs: 800 })
  for (;;) {
    await payEverywhere(fleet.urls, 4)
    await sleep(500)
  }
}

async function end() {
  const codes = await fleet.stop()
  const isClean = codes.length === 2 && codes.every((code) => code === 0)
  tell(isClean, 'SIGTERM: both processes finish what they do, and end with 0')
}

function requestsFor(made, ids) {
  return ids.reduce((sum, id) => sum + (made.get(id)?.requests ?? 0), 0)
}

/** The sum over all series of the metric with that label. */
async function metricOf(url, metric, label) {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n')
  return lines
    .filter((line) => line.startsWith(`${metric}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function connect() {
  const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: null })
  redis.on('error', (error) => console.error(error.message))
  await redis.connect().catch(() => {
    console.error(`There is no Redis at ${redisUrl}. Start one, or set REDIS_URL.`)
    process.exit(1)
  })
  return redis
}

/** Deletes the keys of the example, and no others. */
async function forget() {
  const redis = await connect()
  for await (const keys of redis.scanStream({ match: `*${PREFIX}:*`, count: 1_000 })) {
    if (keys.length > 0) await redis.del(...keys)
  }
  redis.disconnect()
}

const interrupted = new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, resolve)
})
try {
  await Promise.race([play(), interrupted])
  if (isKept) await Promise.race([keep(), interrupted])
  await end()
} finally {
  await fleet.stop('SIGKILL')
  sandbox.close()
  await forget()
}
if (!isRight) {
  for (const entry of fleet.log.filter(({ level }) => level > 30)) console.log(JSON.stringify(entry))
}
process.exit(isRight ? 0 : 1)
