// Thirty orders at once for ten garden sets, through services that call each other inside their locks.
import { LockClient } from '@holdfast/core'
import { provideLocks } from '@holdfast/core/decorators'
import { Ledger } from './services/ledger.mjs'
import { Orders } from './services/orders.mjs'
import { Stock } from './services/stock.mjs'

const SETS = 10
const locks = await LockClient.connect(process.env.REDIS_URL ?? 'redis://localhost:6379')
provideLocks(locks)

const ledger = new Ledger()
const stock = new Stock({ spade: SETS, rake: SETS + 5, bench: SETS + 3 }, ledger)
const orders = new Orders(stock, ledger)
try {
  // Fifteen customers, each of whom has clicked twice.
  const clicks = Array.from({ length: 30 }, (_, i) => orders.place(`customer-${i % 15}`, 'garden set'))
  const placed = (await Promise.all(clicks)).filter(Boolean).length
  const numbers = ledger.entries.map(({ number }) => number)
  const gapFree = numbers.every((number, i) => number === i + 1)
  console.log(`${placed} of ${SETS} garden sets sold, left over: ${JSON.stringify(stock.articles)}`)
  console.log(`the lock of the stock was held ${stock.deepest} levels deep`)
  console.log(`${numbers.length} entries in the ledger, numbered ${gapFree ? 'without a gap' : 'with gaps'}`)
  process.exitCode = placed === SETS && stock.deepest === 3 && gapFree ? 0 : 1
} catch (error) {
  console.log(`${error.code}: ${error.message}`)
  process.exitCode = 1
}
await locks.close()
