import { PGlite } from '@electric-sql/pglite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { NAME } from '../support/fenced-keys.js'
import { section } from '../support/markdown.js'
import { soon, useRig } from '../support/rig.js'

// The statements of docs/fencing.md, as they stand there, in a real Postgres.

const PAGE = 'docs/fencing.md'
const ID = 42
const BEYOND_2_53 = '9007199254740993'

const [column, update, upsert] = [...section(PAGE, 'In one column').matchAll(/```sql\n([^]*?)```/g)]
  .flatMap(([, code]) => code!.split(/;\n/))
  .map((statement) => statement.replaceAll(/^--.*\n/gm, '').trim())
  .filter((statement) => statement !== '') as [string, string, string]

const rig = useRig()
let database: PGlite
let worker: WorkerProcess | undefined

// A Postgres takes seconds to start.
beforeAll(async () => (database = await PGlite.create()), 60_000)
afterAll(() => database.close())
beforeEach(async () => {
  await database.exec('CREATE TABLE orders (id bigint PRIMARY KEY, state text NOT NULL)')
  await database.exec(`INSERT INTO orders VALUES (${ID}, 'new')`)
  await database.exec(column)
})
afterEach(async () => {
  await worker?.kill()
  await database.exec('DROP TABLE orders')
})

interface Write {
  readonly state: string
  readonly token: string
}

/** Whether a row was changed. */
const wrote = async (statement: string, { state, token }: Write, id = ID): Promise<boolean> =>
  (await database.query(statement, [state, token, id])).affectedRows === 1

const row = async (id = ID): Promise<unknown> => {
  const { rows } = await database.query('SELECT state, fence::text FROM orders WHERE id = $1', [id])
  return rows[0]
}

describe.each([
  ['UPDATE', update],
  ['INSERT … ON CONFLICT', upsert],
])('the guard of the page, %s', (_name, statement) => {
  it('refuses a holder that stood still past its lease, once the next one has written', async () => {
    worker = await WorkerProcess.start(new URL('../workers/fenced-writer.mjs', import.meta.url))
    const token = String(await worker.call('take', rig.server.url, NAME, 500))
    expect(await wrote(statement, { state: 'packed', token })).toBe(true)
    await worker.pause()
    const late = worker.call('write', 'cancelled') as Promise<Write>
    const next = await soon((await rig.client()).getFencedLock(NAME).acquire())
    expect(BigInt(next.token)).toBeGreaterThan(BigInt(token))
    expect(await wrote(statement, { state: 'shipped', token: next.token })).toBe(true)
    worker.resume()
    expect(await late).toEqual({ state: 'cancelled', token })
    expect(await wrote(statement, await late)).toBe(false)
    expect(await row()).toEqual({ state: 'shipped', fence: next.token })
    await next.release()
  })

  it('lets one holder write often, and with < it would not', async () => {
    const write = { state: 'packed', token: '7' }
    expect(await wrote(statement, write)).toBe(true)
    expect(await wrote(statement, { ...write, state: 'shipped' })).toBe(true)
    const strict = statement.replace('<=', '<')
    expect(await wrote(strict, { ...write, state: 'delivered' })).toBe(false)
    expect(await row()).toEqual({ state: 'shipped', fence: '7' })
  })

  it('takes tokens beyond 2^53 as text without loss', async () => {
    expect(await wrote(statement, { state: 'one', token: BEYOND_2_53 })).toBe(true)
    expect(await wrote(statement, { state: 'two', token: '9007199254740992' })).toBe(false)
    expect(await row()).toEqual({ state: 'one', fence: BEYOND_2_53 })
  })
})

describe('a row that is not there', () => {
  const write = { state: 'new', token: '3' }

  it('is changed by no UPDATE, and made by the other one', async () => {
    expect(await wrote(update, write, 43)).toBe(false)
    expect(await row(43)).toBeUndefined()
    expect(await wrote(upsert, write, 43)).toBe(true)
    expect(await row(43)).toEqual({ state: 'new', fence: '3' })
  })
})
