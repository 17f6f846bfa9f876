// The documentation site: builds it, serves it, or checks it. VitePress is configured in docs/.vitepress.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError, wholeNumber } from '../command-line.mjs'
import { interruption } from '../interruption.mjs'
import { runCommand } from '../run-command.mjs'
import { checkLinks } from './check-links.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SITE = join(ROOT, 'build/site')
const PORT = 4173
const USAGE = `Usage: npm run docs -- [options]

  Builds the site into build/site, each page as HTML and as Markdown, and llms.txt.

  --check     builds it, and looks for dead links, what keeps people out, and requests to elsewhere
  --serve     serves what was built last, until a signal
  --port N    where                                                                    (${PORT})
  --help

Exit code: 0 all is well, 1 otherwise, 2 the arguments are wrong.`

const signal = interruption()

/** @returns {Promise<string[]>} the pages of the reference */
const build = async () => {
  const startedAt = performance.now()
  // Loaded where it is used: who only serves waits for no generator.
  const { writeReference } = await import('./reference.mjs')
  const reference = join(ROOT, 'build/reference')
  const paths = await writeReference(reference)
  rmSync(SITE, { recursive: true, force: true })
  const { build: buildSite } = await import('vitepress')
  await buildSite(join(ROOT, 'docs'))
  const { writeTexts } = await import('./texts.mjs')
  writeTexts(SITE, reference)
  console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${SITE}`)
  return paths
}

/** @returns {Promise<{ url: string, close: () => void }>} */
const serve = async (port) => {
  if (!existsSync(SITE)) throw new UsageError('there is no site: npm run docs builds it')
  const { serve: serveSite } = await import('vitepress')
  const { server } = await serveSite({ root: join(ROOT, 'docs'), port })
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${server.address().port}/`, close }
}

const check = async () => {
  const paths = await build()
  const { pages, links, dead } = checkLinks(SITE, paths)
  const { checkTexts } = await import('./texts.mjs')
  dead.push(...checkTexts(SITE, paths))
  console.log(`${links} links of ${pages} pages followed, ${dead.length} of them dead`)
  const { checkInBrowser } = await import('./check-in-browser.mjs')
  const served = await serve(0)
  try {
    const faults = [...dead, ...(await checkInBrowser(served.url, { signal, log: console.log }))]
    for (const fault of faults) console.error(fault)
    return faults.length === 0
  } finally {
    served.close()
  }
}

const flag = { type: 'boolean', default: false }
await runCommand({
  USAGE,
  options: { check: flag, serve: flag, port: { type: 'string', default: String(PORT) } },
  run: async ({ check: isCheck, serve: isServe, port: wanted }) => {
    const port = wholeNumber('port', wanted, 65_535)
    if (isCheck && isServe) throw new UsageError('--check and --serve are two things')
    if (isCheck) return check()
    if (isServe) signal.addEventListener('abort', (await serve(port)).close, { once: true })
    else await build()
  },
})
