import axe from 'axe-core'
import { chromium } from 'playwright-core'
import { chromiumProgram, provideChromium } from '../browser/provide-chromium.mjs'

/** One page of each form that pages have. */
const PAGES = {
  home: '',
  'a page of the guide': 'guide/errors.html',
  'a page with code': 'guide/services.html',
  'a list of pages': 'guide/examples/',
  'a package of the reference': 'reference/core/',
  'a class of the reference': 'reference/core/classes/LockClient.html',
  'a decision': 'internals/decisions/0050-lua-becomes-javascript.html',
}
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
const SEARCHED = 'watchdog'
/** CI looks with what its tests leave of the processors: with a twentieth of one the index of the search took two minutes. */
const LIMIT_MS = 600_000

/**
 * Looks at the site as its readers do: with a browser, in light and dark.
 *
 * @param {string} url where the site is served
 * @param {{ signal: AbortSignal, log: (line: string) => void }} options
 * @returns {Promise<string[]>} what is wrong
 */
export const checkInBrowser = async (url, { signal, log }) => {
  await provideChromium({ log: (line) => log(`chromium: ${line}`) })
  const executablePath = chromiumProgram()
  if (executablePath === undefined) return ['there is no Chromium to look at the site with']
  const args = ['--disable-dev-shm-usage', '--disable-gpu']
  const browser = await chromium.launch({
    executablePath,
    chromiumSandbox: process.getuid?.() !== 0,
    args,
    timeout: LIMIT_MS,
  })
  const end = () => void browser.close()
  signal.addEventListener('abort', end, { once: true })
  const faults = []
  const look = async (colorScheme) => {
    const page = await open(browser, colorScheme, url, faults)
    for (const [what, path] of Object.entries(PAGES)) {
      await page.goto(url + path)
      const violations = await violationsOf(page)
      faults.push(...violations.map((each) => `${path || 'the home page'}, ${colorScheme}: ${each}`))
      log(`${what}, ${colorScheme}: ${violations.length} violations of WCAG A and AA`)
    }
    if (colorScheme === 'light') faults.push(...(await faultsOfSearch(page, url)))
  }
  try {
    await Promise.all(['light', 'dark'].map(look))
  } finally {
    signal.removeEventListener('abort', end)
    await browser.close()
  }
  return faults
}

/** A page whose requests to elsewhere and errors become faults. */
const open = async (browser, colorScheme, url, faults) => {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, colorScheme })
  const page = await context.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  const { host } = new URL(url)
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.protocol !== 'data:' && asked.host !== host)
      faults.push(`${page.url()} asks ${asked.host} for ${asked}`)
  })
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error}`))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${page.url()}: ${message.text()}`)
  })
  await page.addInitScript({ content: axe.source })
  return page
}

const violationsOf = async (page) => {
  // VitePress names the switch of the appearance only when Vue has the page.
  await page.waitForFunction(() => globalThis.document.querySelector('.VPSwitchAppearance')?.title !== '')
  // Colours that fade in are not those that a reader sees in the end.
  await page.addStyleTag({ content: '*, ::before, ::after { transition: none !important }' })
  const { violations, passes } = await page.evaluate(
    (tags) => globalThis.axe.run(globalThis.document, { runOnly: tags }),
    WCAG,
  )
  if (!passes.some(({ id }) => id === 'color-contrast')) return ['axe has not looked at the colours']
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, any }) => `${id}: ${help}: ${target.join(' ')} ${any[0]?.message ?? ''}`),
  )
}

/** By keyboard alone, to the first page that was found. */
const faultsOfSearch = async (page, url) => {
  await page.goto(url)
  // Before Vue has the page, nobody hears a key.
  await page.waitForFunction(() => globalThis.document.querySelector('#app')?.__vue_app__ !== undefined)
  await page.keyboard.press('/')
  await page.locator('#localsearch-input').fill(SEARCHED)
  const found = page.locator('.VPLocalSearchBox .result')
  await found.first().waitFor()
  const titles = await found.allTextContents()
  const faults = titles.some((title) => title.toLowerCase().includes(SEARCHED))
    ? []
    : [`the search for ${SEARCHED} finds: ${titles.join(', ')}`]
  await page.keyboard.press('Enter')
  await page.waitForURL((address) => address.pathname.length > 1)
  const text = await page.locator('main').textContent()
  return text.toLowerCase().includes(SEARCHED)
    ? faults
    : [...faults, `${page.url()} has nothing of ${SEARCHED}`]
}
