// Holders whose process stands still beyond their lease, and that write when it goes on. Eight processes increment counters
// of one database, two for each lock. Arguments: name of the database, its URL, URL of Redis, how many late holders.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { LockClient } from '@holdfast/core'
import { open } from './open.mjs'

const [database, url, redisUrl, wanted, mode, name] = process.argv.slice(2)
const [LEASE_MS, PAUSE_MS, WORK_MS] = [100, 150, 5]
const NAMES = ['a', 'b', 'c', 'd']
const MODES = {
  'no guard': [false],
  'reads, then fences': [true, 'read'],
  'fences, then reads': [true, 'fence'],
}

/** Unless the one that counts has ended. */
const tell = (message) => process.connected && process.send(message)

const work = async () => {
  const [isGuarded, first] = MODES[mode]
  const { send, fence, end } = await open(database, url)
  const locks = await LockClient.connect(redisUrl, { bareCalls: 'allow' })
  locks.on('lost', () => undefined)
  const lock = locks.getFencedLock(`pauses ${mode} ${database} ${name}`, { tokens: 'time' })
  const read = async () => Number((await send(`SELECT value FROM counters WHERE name = '${name}'`))[0].value)
  let isOver = false
  process.once('message', () => (isOver = true))
  while (!isOver) {
    // On a busy machine a lease of this length may be over before its reply is read, three times in a row.
    const hold = await lock.acquire({ leaseMs: LEASE_MS }).catch((error) => {
      if (error.code !== 'LOCK_LOST') throw error
    })
    if (!hold) continue
    // Where the handler reads before its transaction, as most do.
    let value = first === 'fence' ? 0 : await read()
    await new Promise((resolve) => setTimeout(resolve, WORK_MS))
    // Every second holder: its whole process stands still.
    if (Math.random() < 0.5) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    const isLate = hold.isLost
    try {
      await send('BEGIN')
      if (isGuarded) await fence(hold)
      if (first === 'fence') value = await read()
      await send(`INSERT INTO writes (name, token) VALUES ('${name}', ${hold.token})`)
      await send(`UPDATE counters SET value = ${value + 1} WHERE name = '${name}'`)
      await send('COMMIT')
      tell({ isLate, isWritten: true })
    } catch (error) {
      await send('ROLLBACK').catch(() => undefined)
      if (!['STALE_HOLDER', 'FENCE_UNDECIDED'].includes(error.code)) throw error
      tell({ isLate, isWritten: false })
    }
    await hold.release()
  }
  await locks.close()
  await end()
  process.disconnect()
}

const run = async (mode) => {
  const { send, end } = await open(database, url)
  const serial = { postgres: 'SERIAL', mariadb: 'SERIAL', sqlite: 'INTEGER' }[database]
  for (const table of ['writes', 'counters']) await send(`DROP TABLE IF EXISTS ${table}`)
  await send(`CREATE TABLE writes (id ${serial} PRIMARY KEY, name VARCHAR(10), token BIGINT)`)
  await send('CREATE TABLE counters (name VARCHAR(10) PRIMARY KEY, value INT)')
  for (const each of NAMES) await send(`INSERT INTO counters VALUES ('${each}', 0)`)
  const count = { late: 0, refused: 0, written: 0 }
  const workers = [...NAMES, ...NAMES].map((each) =>
    fork(new URL(import.meta.url), [database, url, redisUrl, wanted, mode, each]),
  )
  await Promise.race([
    new Promise((resolve) => {
      for (const worker of workers) {
        worker.on('message', ({ isLate, isWritten }) => {
          if (isLate) count.late++
          if (isWritten) count.written++
          else count.refused++
          if (count.late >= Number(wanted)) resolve()
        })
      }
    }),
    ...workers.map(async (worker) => {
      const [code] = await once(worker, 'exit')
      throw new Error(`a worker ended with code ${code}`)
    }),
  ])
  await Promise.all(workers.map((worker) => (worker.send('end'), once(worker, 'exit'))))
  const rows = await send('SELECT name, CAST(token AS CHAR(20)) AS token FROM writes ORDER BY id')
  const latest = {}
  let overtaken = 0
  for (const { name: of, token } of rows) {
    if (BigInt(token) < (latest[of] ?? 0n)) overtaken++
    else latest[of] = BigInt(token)
  }
  const sums = await send('SELECT SUM(value) AS total FROM counters')
  await end()
  const lost = rows.length - Number(sums[0].total)
  console.log(
    `| ${database} | ${mode} | ${count.late} | ${count.refused} | ${rows.length} | ${overtaken} | ${lost} |`,
  )
  return { mode, overtaken, lost }
}

if (mode === undefined) {
  const seen = []
  for (const each of Object.keys(MODES)) seen.push(await run(each))
  const [none, readsFirst, fencesFirst] = seen
  const isRight =
    none.overtaken > 0 && readsFirst.overtaken === 0 && fencesFirst.overtaken === 0 && fencesFirst.lost === 0
  if (!isRight) console.log(`${database}: NOT as it should be`)
  process.exitCode = isRight ? 0 : 1
} else {
  await work()
}
