import { afterEach, describe, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { freePort } from '@holdfast/faults/harness'
import { codeBlocks, root } from '../../../core/test/redis/support/markdown.js'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'

const rig = useRig()
const blocks = codeBlocks('docs/board.md').filter(({ mark }) => mark !== 'no-run')
const ALLOW = "const isAdmin = (headers) => headers.cookie === 'admin'\n"
const APP_MODULE = `import { Module } from '@nestjs/common'
class AppModule {}
Module({})(AppModule)
`
const FRAMEWORKS = ['express', 'fastify', 'koa', 'hono', '@nestjs/core']

let child: ChildProcess | null = null
afterEach(async () => {
  const ended = child && new Promise((resolve) => child?.once('close', resolve))
  child?.kill('SIGKILL')
  await ended
  child = null
})

function start(program: string): { errors: () => string } {
  let errors = ''
  child = spawn(process.execPath, ['--input-type=module'], { cwd: root, stdio: ['pipe', 'ignore', 'pipe'] })
  child.stderr!.on('data', (text) => (errors += String(text)))
  child.stdin!.end(program)
  return { errors: () => errors }
}

const isUp = (url: string): Promise<boolean> =>
  fetch(url, { headers: { cookie: 'admin' } }).then(
    ({ ok }) => ok,
    () => false,
  )

describe('docs/board.md', () => {
  it('has an example for each of five frameworks', () => {
    expect(blocks.map(({ code }) => FRAMEWORKS.filter((name) => code.includes(`'${name}'`)))).toEqual(
      FRAMEWORKS.map((name) => [name]),
    )
  })

  it.each(FRAMEWORKS)('its example for %s shows the board, streams, and breaks a lock', async (name) => {
    const port = await freePort()
    const { code } = blocks.find((block) => block.code.includes(`'${name}'`))!
    const program = (ALLOW + code)
      .replace("import { AppModule } from './app.module.js'\n", APP_MODULE)
      .replace('redis://localhost:6379', rig.server.url)
      .replace('3000', String(port))
    const { errors } = start(program)
    const url = `http://127.0.0.1:${port}/locks`
    await eventually(async () => child?.exitCode !== null || (await isUp(`${url}/`)), 20_000)
    expect(errors()).toBe('')

    const asAdmin = { headers: { cookie: 'admin' } }
    expect((await fetch(`${url}/`)).status).toBe(403)
    // Without the slash: to it, or as it, as the framework has it.
    const page = await fetch(url, asAdmin)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('src="board.js"')])

    const locks = await rig.client()
    const hold = await locks.getLock('stuck').acquire()
    const reader = (await fetch(`${url}/live`, asAdmin)).body!.getReader()
    const decoder = new TextDecoder()
    let told = ''
    while (!told.includes('"stuck"')) {
      told += decoder.decode((await reader.read()).value as Uint8Array)
    }
    await reader.cancel()

    const { token } = (await (await fetch(`${url}/token`, asAdmin)).json()) as { token: string }
    const query = new URLSearchParams({ lock: 'stuck', holder: hold.owner })
    const headers = { cookie: 'admin', 'X-Holdfast-Token': token, Origin: new URL(url).origin }
    const reply = await fetch(`${url}/break?${query.toString()}`, { method: 'POST', headers })
    expect([reply.status, await reply.json()]).toEqual([
      200,
      expect.objectContaining({ outcome: 'released' }),
    ])
    await eventually(() => hold.signal.aborted)
  })
})
