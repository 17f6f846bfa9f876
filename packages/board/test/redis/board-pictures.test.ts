import { expect, it } from '@jest/globals'
import type { Hold } from '@holdfast/core'
import { report } from '@holdfast/core/observe'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../core/test/redis/support/markdown.js'
import { useRig } from '../../../core/test/redis/support/rig.js'
import { serveBoard, useBrowser } from './support/board-rig.js'

const rig = useRig()
const browsing = useBrowser()
const FOLDER = join(root, 'docs/images')
/** Above what an empty page weighs, and below what a README should load. */
const [LEAST_BYTES, MOST_BYTES] = [15_000, 150_000]

/** Written where the pages show them, if HOLDFAST_PICTURES is set. */
function keep(name: string, picture: Buffer): void {
  expect(picture.length).toBeGreaterThan(LEAST_BYTES)
  expect(picture.length).toBeLessThan(MOST_BYTES)
  if (process.env.HOLDFAST_PICTURES !== undefined) {
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(join(FOLDER, name), picture)
  }
}

it('the pictures of the pages: the table in light, one lock in dark', async () => {
  const names = ['orders-7f9c-12', 'orders-7f9c-31', 'mail-58d4-7', 'billing-a1e0-3']
  const clients = await Promise.all(names.map((clientName) => rig.client({ clientName })))
  const [orders, more, mail, billing] = clients
  clients.forEach((client) => report(client, { everyMs: 1_000 }))
  orders!.on('lost', () => undefined)
  const holds: Hold[] = [
    await orders!.getLock('invoice:2026-11').acquire(),
    await more!.getFencedLock('ledger:main').acquire(),
    await mail!.getReadWriteLock('templates').readLock().acquire(),
    await billing!.getReadWriteLock('templates').readLock().acquire(),
    await billing!.getLock('payout:daily').acquire(),
    await orders!.getFairLock('stock:4711').acquire(),
  ]
  for (const id of [1204, 1207, 1211, 1215]) {
    holds.push(await more!.getLock(`order:${id}`).acquire())
  }
  const waits = [more!, mail!, billing!].map((client) => client.getFairLock('stock:4711').acquire())
  const behind = mail!.getLock('payout:daily').acquire()
  const served = await serveBoard(await rig.client({ clientName: 'board' }), { authorize: () => true })
  browsing.atEnd(() => served.close())

  const size = { width: 1_180, height: 480 }
  const table = await browsing.open(served.url, { viewport: size, colorScheme: 'light' })
  await table.page.getByText('9 held locks').waitFor()
  await table.page.getByRole('row').filter({ hasText: 'ledger:main' }).getByText('fenced').waitFor()
  await table.page.getByText('all keys searched').waitFor()
  keep('board-now.png', await table.page.screenshot())

  const url = `${served.url}#/lock/${encodeURIComponent('sync:stock')}`
  const one = await browsing.open(url, { viewport: { width: 1_000, height: 720 }, colorScheme: 'dark' })
  await one.page.getByRole('button', { name: '10 s' }).click()
  let isOver = false
  const work = clients.map(async (client, i) => {
    while (!isOver) {
      const held = await client.getFairLock('sync:stock').acquire()
      await new Promise((resolve) => setTimeout(resolve, 150 + 90 * i))
      await held.release()
    }
  })
  await one.page.locator('rect.hold').nth(12).waitFor({ state: 'attached' })
  keep('board-lock.png', await one.page.screenshot())
  isOver = true
  await Promise.all(work)
  expect([...table.troubles, ...one.troubles]).toEqual([])
  for (const hold of holds) {
    await hold.release()
  }
  await (await behind).release()
  for (const wait of waits) {
    await (await wait).release()
  }
}, 180_000)
