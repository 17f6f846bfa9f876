// The cost of the fence: a transaction that reads and writes a row, with it and without it, in turns. Arguments: name of the
// database, its URL, ms of each turn.
import { open } from './open.mjs'

const [database, url, ms] = process.argv.slice(2)
const [ROUNDS, WRITERS] = [7, 32]
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]

const transaction = async ({ send, fence }, row, hold) => {
  await send('BEGIN')
  if (hold) await fence(hold)
  await send(`SELECT value FROM costs WHERE id = ${row}`)
  await send(`UPDATE costs SET value = value + 1 WHERE id = ${row}`)
  await send('COMMIT')
}

/** Transactions of all writers in a second. */
const rateOf = async (writers, hold) => {
  const [startedAt, counts] = [performance.now(), writers.map(() => 0)]
  await Promise.all(
    writers.map(async (writer, i) => {
      for (; performance.now() - startedAt < Number(ms); counts[i]++) await transaction(writer, i, hold)
    }),
  )
  return (1_000 * counts.reduce((sum, each) => sum + each, 0)) / (performance.now() - startedAt)
}

const all = await Promise.all(
  Array.from({ length: database === 'sqlite' ? 1 : WRITERS }, () => open(database, url)),
)
const [first] = all
await first.send('DROP TABLE IF EXISTS costs')
await first.send('CREATE TABLE costs (id INT PRIMARY KEY, value INT NOT NULL)')
for (let i = 0; i < WRITERS; i++) await first.send(`INSERT INTO costs VALUES (${i}, 0)`)
const hold = { token: String(1e15 + Date.now()), tokenKey: `cost ${database}` }
for (const writers of all.length > 1 ? [[first], all] : [[first]]) {
  const rates = { without: [], fenced: [] }
  await rateOf(writers, hold)
  for (let round = 0; round < ROUNDS; round++) {
    rates.without.push(await rateOf(writers))
    rates.fenced.push(await rateOf(writers, hold))
  }
  const [without, fenced] = [median(rates.without), median(rates.fenced)]
  const cells = [without.toFixed(0), fenced.toFixed(0), (without / fenced).toFixed(2)]
  console.log(`| ${database} | ${writers.length} | ${cells.join(' | ')} |`)
}
await Promise.all(all.map((each) => each.end()))
