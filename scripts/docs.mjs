// The documentation site: builds it, serves it, or checks it.
import { parseOptions, UsageError, wholeNumber } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { checkLinks } from './site/check-links.mjs'
import { serve } from './site/serve.mjs'
import { SITE } from './site/stage.mjs'

const PORT = 4173
const USAGE = `Usage: npm run docs -- [options]

  Builds the site into build/site.

  --check     builds it, and looks for dead links, what keeps people out, and requests to elsewhere
  --serve     serves what was built last to this machine, until a signal
  --port N    where                                                                    (${PORT})
  --help

Exit code: 0 all is well, 1 otherwise, 2 the arguments are wrong.`

const signal = interruption()

const build = async () => {
  const startedAt = performance.now()
  // Loaded where it is used: who only serves waits for no generator.
  const { buildSite } = await import('./site/build.mjs')
  const paths = await buildSite()
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`${paths.length} pages in ${seconds} s: ${SITE}`)
  return paths
}

const check = async () => {
  const { pages, links, dead } = checkLinks(SITE, await build())
  console.log(`${links} links of ${pages} pages followed, ${dead.length} of them dead`)
  const { checkInBrowser } = await import('./site/check-in-browser.mjs')
  const served = await serve(SITE, 0)
  try {
    const faults = [...dead, ...(await checkInBrowser(served.url, { signal, log: console.log }))]
    for (const fault of faults) console.error(fault)
    process.exitCode ||= faults.length === 0 ? 0 : 1
  } finally {
    await served.close()
  }
}

const serveUntilSignal = async (port) => {
  const served = await serve(SITE, port)
  console.log(`${served.url} serves ${SITE}; Ctrl-C ends it`)
  await new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', resolve, { once: true })
  })
  await served.close()
}

try {
  const flag = { type: 'boolean', default: false }
  const values = parseOptions(process.argv.slice(2), {
    check: flag,
    serve: flag,
    port: { type: 'string', default: String(PORT) },
    help: flag,
  })
  const port = wholeNumber('port', values.port, 65_535)
  if (values.check && values.serve) throw new UsageError('--check and --serve are two things')
  if (values.help) console.log(USAGE)
  else if (values.check) await check()
  else if (values.serve) await serveUntilSignal(port)
  else await build()
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
