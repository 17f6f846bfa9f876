import { BUYERS_EACH, ITEMS, KEY_TTL_MS, PROCESSES, STEP_LIMIT_MS } from './settings.mjs'
import { inMs } from './terminal.mjs'
import { within } from './time.mjs'

export const title = `Flash sale: ${ITEMS} items, ${PROCESSES} processes x ${BUYERS_EACH} buyers`

const BUYERS = PROCESSES * BUYERS_EACH

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, redis, prefix, say }) => {
  const names = Array.from({ length: PROCESSES }, (_, index) => `shop-${index + 1}`)
  const workers = await crew.start(names)
  say(`${PROCESSES} processes are ready: pids ${workers.map(({ pid }) => pid).join(', ')}`)

  say('without a lock: each buyer reads the stock, thinks a moment, writes stock - 1 ...')
  const unguarded = await sell(workers, redis, { stockKey: `${prefix}:stock`, salesKey: `${prefix}:sales` })
  const surplus = unguarded.sold - ITEMS
  say(`${unguarded.sold} sold in ${inMs(unguarded.tookMs)}: ${surplus} more than there were`)

  say('the same inside lock.withLock(...) ...')
  const guarded = await sell(workers, redis, {
    lockName: `${prefix}:sale-lock`,
    stockKey: `${prefix}:guarded-stock`,
    salesKey: `${prefix}:guarded-sales`,
  })
  say(`${guarded.sold} sold in ${inMs(guarded.tookMs)}, stock ${guarded.stock}`)
  await Promise.all(workers.map((worker) => worker.end()))
  return { claims: claimsOf(unguarded, guarded), panel: panelOf(workers, guarded) }
}

/** One whole sale; the numbers sold and left are those in Redis. */
const sell = async (workers, redis, place) => {
  await redis.set(place.stockKey, ITEMS, 'PX', KEY_TTL_MS)
  const calls = workers.map((worker) => worker.call('sell', { buyers: BUYERS_EACH, ...place }))
  const visits = await within(Promise.all(calls), 2 * STEP_LIMIT_MS, 'end of the sale')
  const all = visits.flat()
  const startedAt = Math.min(...all.map(({ from }) => from))
  return {
    visits,
    startedAt,
    tookMs: Math.max(...all.map(({ to }) => to)) - startedAt,
    soldOut: all.filter(({ bought }) => !bought).length,
    sold: await redis.llen(place.salesKey),
    stock: Number(await redis.get(place.stockKey)),
  }
}

const claimsOf = (unguarded, guarded) => [
  {
    claim: 'Without a lock the sale oversells',
    expected: `more than ${ITEMS} sold`,
    seen: `${unguarded.sold} sold, ${unguarded.sold - ITEMS} too many; stock says ${unguarded.stock}`,
    ok: unguarded.sold > ITEMS,
  },
  {
    claim: 'With withLock each item is sold once',
    expected: `${ITEMS} sold, stock 0, ${BUYERS - ITEMS} buyers told "sold out"`,
    seen: `${guarded.sold} sold, stock ${guarded.stock}, ${guarded.soldOut} buyers told "sold out"`,
    ok: guarded.sold === ITEMS && guarded.stock === 0 && guarded.soldOut === BUYERS - ITEMS,
  },
]

const panelOf = (workers, { visits, startedAt, tookMs, sold, stock }) => ({
  title: `Flash sale with withLock: ${sold} sold, stock ${stock}`,
  note: `${PROCESSES} processes with ${BUYERS_EACH} buyers each want ${ITEMS} items; one bar is one buyer`,
  endMs: tookMs,
  lanes: workers.map(({ name, pid }, index) => ({
    label: name,
    detail: `pid ${pid}`,
    bars: visits[index].map(({ from, to, bought }) => ({
      from: from - startedAt,
      to: to - startedAt,
      kind: bought ? 'holds' : 'looks',
    })),
  })),
})
