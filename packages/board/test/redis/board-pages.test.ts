import { createServer } from 'node:http'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '@holdfast/core'
import { report } from '@holdfast/core/observe'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'
import {
  closed,
  listening,
  serveBoard,
  useBrowser,
  type OpenPage,
  type ServedBoard,
} from './support/board-rig.js'
import type { BoardOptions } from '../../src/index.js'

const rig = useRig()
const browsing = useBrowser()
let locks: LockClient

beforeEach(async () => {
  locks = await rig.client({ clientName: 'orders-7f9c' })
})

const serve = async (options?: BoardOptions): Promise<ServedBoard> => {
  const served = await serveBoard(await rig.client({ clientName: 'board' }), options)
  browsing.atEnd(() => served.close())
  return served
}

const open = async (options?: BoardOptions, path = ''): Promise<OpenPage & { served: ServedBoard }> => {
  const served = await serve(options)
  return { served, ...(await browsing.open(served.url + path)) }
}

const clickBreak = (page: OpenPage['page']) =>
  page.getByRole('button', { name: 'Break the lock of orders-7f9c' }).click()
const confirmBreak = (page: OpenPage['page']) =>
  page
    .getByRole('dialog')
    .getByRole('button', { name: /^Break/ })
    .click()
const rowOf = ({ page }: OpenPage, name: string) => page.getByRole('row').filter({ hasText: name })

describe('the table', () => {
  it('shows held locks of every kind: holder, since when, lease, hold count and waiters', async () => {
    const other = await rig.client({ clientName: 'mail-1' })
    report(locks, { everyMs: 1_000 })
    report(other, { everyMs: 1_000 })
    const holds = [
      await locks.getLock('order:42').acquire(),
      await locks.getFairLock('queue').acquire(),
      await locks.getReadWriteLock('documents').writeLock().acquire(),
      await locks.getFencedLock('ledger').acquire(),
    ]
    const waits = ['queue', 'queue', 'queue'].map((name) => other.getFairLock(name).acquire())
    const shown = await open()
    const { page, troubles } = shown
    await rowOf(shown, 'order:42').getByText('orders-7f9c').waitFor()
    await rowOf(shown, 'queue').getByText(/^3$/).waitFor()
    await rowOf(shown, 'queue').getByText('mail-1').waitFor()
    await rowOf(shown, 'documents').getByText('read-write, writer').waitFor()
    await rowOf(shown, 'ledger').getByText('fenced').waitFor()
    await page.getByText('4 held locks').waitFor()
    // The most contended first.
    expect(await page.getByRole('row').nth(1).textContent()).toContain('queue')
    const lease = rowOf(shown, 'order:42').locator('.lease')
    expect(await lease.textContent()).toMatch(/^\d\d s$/)
    expect(await lease.locator('.bar > span').getAttribute('style')).toMatch(/width: \d+/)
    expect(troubles).toEqual([])
    await Promise.all(holds.map((hold) => hold.release()))
    for (const wait of waits) {
      await (await wait).release()
    }
    await page.getByText('No lock is held.').waitFor()
  })

  it('follows locks that change under load', async () => {
    const shown = await open()
    const { page, troubles } = shown
    let isOver = false
    const names = Array.from({ length: 30 }, (_, i) => `load:${i}`)
    const load = names.map(async (name) => {
      while (!isOver) {
        await locks.getLock(name).withLock(() => new Promise((resolve) => setTimeout(resolve, 20)))
      }
    })
    const kept = await locks.getLock('kept').acquire()
    await rowOf(shown, 'kept').waitFor()
    await page.getByRole('searchbox').fill('kept')
    await page.getByText(/^1 of \d+ held locks$/).waitFor()
    await kept.release()
    await rowOf(shown, 'kept').waitFor({ state: 'detached' })
    isOver = true
    await Promise.all(load)
    await page.getByText('0 held locks').or(page.getByText('0 of 0 held locks')).waitFor()
    expect(troubles).toEqual([])
  })

  it('is filtered and sorted', async () => {
    const holds = []
    for (const name of ['b', 'a', 'c']) {
      holds.push(await locks.getLock(`sorted:${name}`).acquire())
    }
    const shown = await open()
    const { page } = shown
    await page.getByText('3 held locks').waitFor()
    const names = () => page.getByRole('gridcell').getByRole('link').allTextContents()
    await page.getByRole('button', { name: 'Lock', exact: true }).click()
    expect(await names()).toEqual(['sorted:a', 'sorted:b', 'sorted:c'])
    await page.getByRole('button', { name: /^Lock/ }).click()
    expect(await names()).toEqual(['sorted:c', 'sorted:b', 'sorted:a'])
    const sorted = page.getByRole('columnheader', { name: /^Lock/ })
    expect(await sorted.getAttribute('aria-sort')).toBe('descending')
    await page.getByRole('searchbox').fill('SORTED:B')
    await page.getByText('1 of 3 held locks').waitFor()
    expect(await names()).toEqual(['sorted:b'])
    await page.getByRole('searchbox').fill('nothing')
    await page.getByText('No held lock has this text.').waitFor()
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('is used by keyboard alone', async () => {
    const holds = await Promise.all(['k:1', 'k:2', 'k:3'].map((name) => locks.getLock(name).acquire()))
    const { page } = await open()
    await page.getByText('3 held locks').waitFor()
    await page.getByRole('button', { name: 'Lock', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('grid').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    const active = page.locator('[aria-selected="true"]')
    expect(await active.textContent()).toContain('k:2')
    const activeId = await page.getByRole('grid').getAttribute('aria-activedescendant')
    expect(activeId).toBe(await active.getAttribute('id'))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'k:2' }).waitFor()
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('says that it has lost the board, and finds it again', async () => {
    const { page, served } = await open()
    await page.getByRole('status').getByText('Live').waitFor()
    await served.board.close()
    await page.getByText('No connection to the board').waitFor()
  })

  it('says what is wrong with Redis, and goes on when it is back', async () => {
    const { page } = await open()
    await page.getByRole('status').getByText('Live').waitFor()
    await rig.server.pause()
    await page.getByText(/^Redis: /).waitFor()
    rig.server.resume()
    await page.getByRole('status').getByText('Live').waitFor()
  })
})

describe('one lock', () => {
  it('shows who held it when, who waits, what was lost, and its keys', async () => {
    locks.on('lost', () => undefined)
    report(locks)
    const other = await rig.client({ clientName: 'mail-1' })
    report(other, { everyMs: 1_000 })
    const first = await locks.getLock('order:42').acquire()
    const shown = await open({}, '#/lock/order%3A42')
    const { page, troubles } = shown
    await page.getByRole('heading', { name: 'order:42', level: 2 }).waitFor()
    await page.getByRole('cell', { name: first.owner }).first().waitFor()
    const next = other.getLock('order:42').acquire()
    await page.getByRole('heading', { name: 'Waiters, in order' }).waitFor()
    await page.locator('ol').getByText('mail-1').waitFor()
    await page.locator('rect.wait').first().waitFor({ state: 'attached' })
    await first.release()
    const second = await next
    await page.getByRole('cell', { name: second.owner }).first().waitFor()
    const lanes = page.getByRole('img', { name: /2 holds of 2 clients/ })
    await lanes.waitFor()
    await page.getByRole('cell', { name: 'order:42', exact: true }).waitFor()
    await locks.getLock('order:42').forceUnlock()
    await eventually(() => second.signal.aborted)
    await page.getByText('The lock is free.').waitFor()
    await page.locator('rect.hold.lost').waitFor({ state: 'attached' })
    await page.getByRole('region', { name: 'Losses' }).getByText('forced').waitFor()
    expect(troubles).toEqual([])
  })

  it('shows holds of clients that do not report, as it finds them', async () => {
    const { page } = await open({}, '#/lock/quiet')
    await page.getByText('The lock is free.').waitFor()
    const hold = await locks.getLock('quiet').acquire()
    await page.getByText('The holder’s client does not report').waitFor()
    await page.getByRole('img', { name: /1 hold of 1 client / }).waitFor()
    await hold.release()
    await page.getByText('The lock is free.').waitFor()
    await page.locator('rect.hold.gone').waitFor({ state: 'attached' })
  })
})

describe('breaking a lock', () => {
  const allow: BoardOptions = { authorize: () => ({ user: 'ann' }) }

  it('names the holder before, releases, tells the holder, and is logged', async () => {
    locks.on('lost', () => undefined)
    const hold = await locks.getLock('stuck').acquire()
    const { page, served } = await open(allow, '#/lock/stuck')
    await clickBreak(page)
    const dialog = page.getByRole('dialog', { name: 'Break the lock “stuck”?' })
    await dialog.getByText(hold.owner).waitFor()
    expect(hold.signal.aborted).toBe(false)
    await dialog.getByRole('button', { name: 'Break the lock of orders-7f9c' }).click()
    await page.getByText(`Released. ${hold.owner} has been told.`).waitFor()
    await eventually(() => hold.signal.aborted)
    expect(served.log).toMatchObject([
      { action: 'break', outcome: 'released', lockName: 'stuck', holder: hold.owner, user: 'ann' },
    ])
  })

  it('is cancelled by Escape and by Cancel, and nothing is sent', async () => {
    const hold = await locks.getLock('stuck').acquire()
    const { page, served } = await open(allow, '#/lock/stuck')
    for (const cancel of [
      () => page.keyboard.press('Escape'),
      () => page.getByRole('button', { name: 'Cancel' }).click(),
    ]) {
      await clickBreak(page)
      await page.getByRole('dialog').waitFor()
      await cancel()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    expect(served.log).toEqual([])
    expect(await hold.release()).toBe('released')
  })

  it('is not offered without authorize', async () => {
    const hold = await locks.getLock('stuck').acquire()
    const { page } = await open({}, '#/lock/stuck')
    await page.getByRole('cell', { name: hold.owner }).first().waitFor()
    expect(await page.getByRole('button', { name: /^Break/ }).count()).toBe(0)
    await hold.release()
  })

  it('refused by authorize, it says so, releases nothing, and is logged', async () => {
    const hold = await locks.getLock('stuck').acquire()
    const { page, served } = await open({ authorize: (_, { type }) => type === 'view' }, '#/lock/stuck')
    await clickBreak(page)
    await confirmBreak(page)
    await page.getByText('You may not break this lock.').waitFor()
    expect(served.log).toMatchObject([{ outcome: 'denied', lockName: 'stuck', user: undefined }])
    expect(await hold.release()).toBe('released')
  })

  it('leaves a holder that came in meanwhile alone', async () => {
    const first = await locks.getLock('stuck').acquire()
    const { page, served } = await open(allow, '#/lock/stuck')
    await clickBreak(page)
    await page.getByRole('dialog').getByText(first.owner).waitFor()
    await first.release()
    const second = await locks.getLock('stuck').acquire()
    await confirmBreak(page)
    await page.getByText(`${second.owner} has the lock by now, and keeps it.`).waitFor()
    expect(served.log).toMatchObject([{ outcome: 'changed', holder: first.owner }])
    expect(await second.release()).toBe('released')
  })
})

describe('several tabs', () => {
  it('leave connections for what a page asks: a lock is broken beside five other tabs', async () => {
    locks.on('lost', () => undefined)
    const hold = await locks.getLock('stuck').acquire()
    const { page, served } = await open({ authorize: () => true }, '#/lock/stuck')
    for (let i = 0; i < 4; i += 1) {
      const other = await page.context().newPage()
      await other.goto(`${served.url}#/lock/stuck`)
      await other.getByRole('button', { name: 'Break the lock of orders-7f9c' }).waitFor()
    }
    await page.bringToFront()
    await clickBreak(page)
    await confirmBreak(page)
    await page.getByText(`Released. ${hold.owner} has been told.`).waitFor()
  })

  it('find the board again after it has refused them', async () => {
    let isAllowed = true
    const { page, served, troubles } = await open({ authorize: () => isAllowed })
    await page.getByRole('status').getByText('Live').waitFor()
    isAllowed = false
    served.disconnect()
    await page.getByText('No connection to the board').waitFor()
    // The browser itself gives up by then.
    await eventually(() => troubles.some((text) => text.includes('403')))
    isAllowed = true
    await page.getByRole('status').getByText('Live').waitFor()
  })
})

describe('a page of another site', () => {
  it('breaks no lock by a form or a request, with the cookies of whoever looks at it, and reads no token', async () => {
    const hold = await locks.getLock('stuck').acquire()
    const { page, served } = await open({ authorize: () => true })
    await page.getByRole('status').getByText('Live').waitFor()
    const target = `${served.url}break?lock=stuck&holder=${encodeURIComponent(hold.owner)}`
    const form = `<form method="post" action="${target.replace('&', '&amp;')}"><button>Win</button></form>`
    const evil = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(form)
    })
    // Another host, for which this browser has the same cookies only if the board set any.
    const origin = (await listening(evil)).replace('127.0.0.1', 'localhost')
    browsing.atEnd(() => closed(evil))
    const other = await page.context().newPage()
    await other.goto(origin)
    const told = await other.evaluate(
      async ({ target, token }) => {
        const outcome = async (url: string, init: RequestInit): Promise<string> => {
          try {
            return (await fetch(url, { credentials: 'include', ...init })).type
          } catch {
            return 'refused'
          }
        }
        return [
          await outcome(token, {}),
          // This one is sent; its reply is not for other pages.
          await outcome(target, { method: 'POST', mode: 'no-cors' }),
          // Another page may not send this header: the browser asks the board first, which does not allow it.
          await outcome(target, { method: 'POST', headers: { 'X-Holdfast-Token': 'a guess' } }),
        ]
      },
      { target, token: `${served.url}token` },
    )
    expect(told).toEqual(['refused', 'refused', 'refused'])
    await other.getByRole('button', { name: 'Win' }).click()
    await other.getByText('The request comes from another site.').waitFor()
    expect(served.log.map(({ outcome, detail }) => [outcome, detail])).toEqual([
      ['denied', 'The request comes from another site.'],
      ['denied', 'The request comes from another site.'],
    ])
    const framed = await page.context().newPage()
    await framed.goto(`${origin}/`)
    const frame = JSON.stringify(`<iframe src="${served.url}"></iframe>`)
    await framed.evaluate(`document.body.insertAdjacentHTML('beforeend', ${frame})`)
    await eventually(() => framed.frames().length === 2)
    expect(await framed.frames()[1]!.locator('#board').count()).toBe(0)
    await hold.verify()
    expect(await hold.release()).toBe('released')
  })

  it('a script in the page that is not a file of the board does not run', async () => {
    const { url } = await serve()
    const context = await browsing.open('about:blank')
    const { page, troubles } = context
    // Stands for a name that got into the page unescaped.
    const injected =
      '<script>document.title = "owned"</script><img src="x" onerror="document.title = \'owned\'">' +
      '<script src="https://elsewhere.invalid/x.js"></script><style>body { display: none }</style>'
    await page.route(url, async (route) => {
      const reply = await route.fetch()
      const body = (await reply.text()).replace('</body>', `${injected}</body>`)
      expect(body).toContain('owned')
      await route.fulfill({ response: reply, body })
    })
    await page.goto(url)
    await page.getByRole('status').getByText('Live').waitFor()
    expect(await page.title()).toBe('Locks')
    // The browser tells of them when it comes to it.
    const violations = (directive: string): number =>
      troubles.filter((text) => text.includes('Content Security Policy') && text.includes(directive)).length
    await eventually(() => violations('style-src') >= 1 && violations('script-src') >= 3)
  })
})

describe('hostile names', () => {
  const NAMES = [
    '<script>document.title = "owned"</script>',
    '<img src=x onerror="document.title = \'owned\'">',
    '"><svg onload=alert(1)>',
    '\u202Egnirts desrever',
    'a\nb\r\nevent: hello\ndata: {}',
    '%2e%2e/#/lock/x?&=',
    '☃ größe 鎖',
    'x'.repeat(1_000),
  ]

  it('are shown as text, in the table, alone and in the question, and run nothing', async () => {
    const names = [...NAMES]
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    const shown = await open({ authorize: () => true, title: '<b>Locks</b>' })
    const { page, troubles, served } = shown
    await page.getByText(`${names.length} held locks`).waitFor()
    const links = page.getByRole('gridcell').getByRole('link')
    expect((await links.allTextContents()).sort()).toEqual(names.sort())
    expect(await page.locator('script:not([src]), img, svg[onload], b:has-text("Locks")').count()).toBe(0)
    for (const name of names) {
      await page.goto(`${served.url}#/lock/${encodeURIComponent(name)}`)
      // Until then the page of the one before is there.
      await eventually(async () => (await page.locator('h2').first().textContent()) === name)
      await page.getByRole('button', { name: /^Break/ }).click()
      const dialog = page.getByRole('dialog')
      expect(await dialog.getByRole('heading').textContent()).toBe(`Break the lock “${name}”?`)
      await page.keyboard.press('Escape')
    }
    expect(await page.title()).toBe(`${names.at(-1)} · <b>Locks</b>`)
    expect(troubles).toEqual([])
    await Promise.all(holds.map((hold) => hold.release()))
  })
})
