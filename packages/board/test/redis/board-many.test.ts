import { expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { useRig } from '../../../core/test/redis/support/rig.js'
import { serveBoard, useBrowser } from './support/board-rig.js'

const rig = useRig()
const browsing = useBrowser()
const LOCKS = 10_000
/** The rows of a screen, and those kept beyond its edges. */
const MOST_ELEMENTS = 60

const HOLD_ALL = `for i = 1, ${LOCKS} do
  local key = string.format('order:%05d', i)
  redis.call('hset', key, 'orders-' .. i % 40 .. '~0123456789abcdefghijk:' .. i, 1)
  redis.call('pexpire', key, 600000)
end`

/** Counts what is touched in the table: rows whose holder changes, and rows that are made or removed. In the page. */
const COUNT = `
  globalThis.touched = { rows: new Set(), replaced: 0 }
  const elementOf = (node) => (node instanceof Element ? node : node.parentElement)
  new MutationObserver((changes) => {
    for (const { target, addedNodes, removedNodes } of changes) {
      const holder = elementOf(target)?.closest('.of-holder')
      if (holder) touched.rows.add(holder.closest('.row').querySelector('a').textContent)
      const isRow = (node) => node instanceof Element && node.classList.contains('row')
      touched.replaced += [...addedNodes, ...removedNodes].filter(isRow).length
    }
  }).observe(document.querySelector('.sizer'), { childList: true, subtree: true, characterData: true, attributes: true })
`

/** A lock in sight changes its holder: of the elements of the table, only those of its row are touched for it. */
const oneRowAlone = async (page: Page): Promise<void> => {
  await page.evaluate(COUNT)
  await rig.admin
    .multi()
    .del('order:05001')
    .hset('order:05001', 'payments-1~0123456789abcdefghijk:1', 1)
    .pexpire('order:05001', 600_000)
    .exec()
  const row = page.getByRole('row').filter({ hasText: 'order:05001' })
  await row.getByText('payments-1').waitFor({ timeout: 120_000 })
  const touched = await page.evaluate('({ rows: [...touched.rows], replaced: touched.replaced })')
  expect(touched).toEqual({ rows: ['order:05001'], replaced: 0 })
}

it('10,000 locks are found, scrolled through, filtered and sorted, with a screen of elements', async () => {
  await rig.admin.eval(HOLD_ALL, 0)
  const served = await serveBoard(await rig.client({ clientName: 'board' }))
  browsing.atEnd(() => served.close())
  const { page, troubles } = await browsing.open(served.url)
  // A thousand keys a second.
  await page.getByText('10,000 held locks').waitFor({ timeout: 120_000 })
  const rows = page.locator('.row')
  expect(await rows.count()).toBeLessThan(MOST_ELEMENTS)
  expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe(`${LOCKS + 1}`)
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await rows.first().getByText('order:00001', { exact: true }).waitFor()
  await page.getByRole('grid').focus()
  await page.keyboard.press('End')
  await page.getByRole('link', { name: 'order:10000' }).waitFor()
  expect(await rows.count()).toBeLessThan(MOST_ELEMENTS)
  await page
    .locator('.viewport')
    .evaluate((element: { scrollTop: number }) => (element.scrollTop = 5_000 * 34))
  await page.getByRole('link', { name: 'order:05001' }).waitFor()
  expect(await rows.count()).toBeLessThan(MOST_ELEMENTS)
  await oneRowAlone(page)
  await page.getByRole('searchbox').fill('order:0777')
  await page.getByText('10 of 10,000 held locks').waitFor()
  await rig.admin.flushall()
  await page.getByText('No lock is held.').waitFor({ timeout: 120_000 })
  expect(troubles).toEqual([])
}, 300_000)
