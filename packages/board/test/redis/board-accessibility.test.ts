import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '@holdfast/core'
import { report } from '@holdfast/core/observe'
import axe from 'axe-core'
import { useRig } from '../../../core/test/redis/support/rig.js'
import { serveBoard, useBrowser, type OpenPage } from './support/board-rig.js'

const rig = useRig()
const browsing = useBrowser()
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
let orders: LockClient
let mail: LockClient

beforeEach(async () => {
  orders = await rig.client({ clientName: 'orders-7f9c' })
  mail = await rig.client({ clientName: 'mail-1' })
  report(orders, { everyMs: 1_000 })
  report(mail, { everyMs: 1_000 })
  orders.on('lost', () => undefined)
})

const open = async (colorScheme: 'light' | 'dark', path = ''): Promise<OpenPage['page']> => {
  const served = await serveBoard(await rig.client({ clientName: 'board' }), { authorize: () => true })
  browsing.atEnd(() => served.close())
  // Only so that axe may come into the page, whose policy lets nothing in.
  const { page } = await browsing.open(served.url + path, { colorScheme, bypassCSP: true })
  await page.addScriptTag({ content: axe.source })
  return page
}

/** Violations that axe finds, each with its place. */
async function violationsOf(page: OpenPage['page']): Promise<string[]> {
  const run = `axe.run(document, { runOnly: ${JSON.stringify(WCAG)} })`
  const { violations, passes } = await page.evaluate<axe.AxeResults>(run)
  expect(passes.map(({ id }) => id)).toContain('color-contrast')
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  )
}

describe.each(['light', 'dark'] as const)('axe finds nothing, in %s colours,', (colorScheme) => {
  it('on an empty table, and on one of locks that are held and waited for', async () => {
    const page = await open(colorScheme)
    await page.getByText('No lock is held.').waitFor()
    expect(await violationsOf(page)).toEqual([])
    const holds = [
      await orders.getLock('order:42').acquire(),
      await orders.getFairLock('stock:4711').acquire(),
      await mail.getFencedLock('ledger').acquire({ leaseMs: 10_000 }),
    ]
    const wait = mail.getFairLock('stock:4711').acquire()
    await page.getByText('3 held locks').waitFor()
    await page.getByRole('row').filter({ hasText: 'stock:4711' }).getByText('mail-1').waitFor()
    // One row is the active one, another has the mouse over it.
    await page.getByRole('grid').focus()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('row').nth(2).hover()
    expect(await violationsOf(page)).toEqual([])
    await page.getByRole('searchbox').fill('nothing')
    await page.getByText('No held lock has this text.').waitFor()
    expect(await violationsOf(page)).toEqual([])
    await Promise.all(holds.map((hold) => hold.release()))
    await (await wait).release()
  })

  it('on one lock with its history, and on the question whether to break it', async () => {
    const page = await open(colorScheme, '#/lock/order%3A42')
    await page.getByText('The lock is free.').waitFor()
    expect(await violationsOf(page)).toEqual([])
    await orders.getLock('order:42').acquire()
    await page.getByRole('button', { name: 'Break the lock of orders-7f9c' }).waitFor()
    await orders.getLock('order:42').forceUnlock()
    await page.getByRole('region', { name: 'Losses' }).getByText('forced').waitFor()
    const hold = await orders.getLock('order:42').acquire()
    const wait = mail.getLock('order:42').acquire()
    await page.locator('ol').getByText('mail-1').waitFor()
    await page.getByText('As a table').click()
    expect(await violationsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Break the lock of orders-7f9c' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await violationsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await hold.release()
    await (await wait).release()
  })
})
