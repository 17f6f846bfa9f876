import { expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { request as openRequest } from 'node:http'
import { join } from 'node:path'
import { root } from '../../../core/test/redis/support/markdown.js'
import { useRig } from '../../../core/test/redis/support/rig.js'

const rig = useRig()
const PROGRAM = join(root, 'packages/cli/bin/holdfast.mjs')

/** The status under another name for this machine, as a page elsewhere could have the browser ask. */
function statusUnder(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = openRequest(url, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
    request.end()
  })
}

it('`holdfast board` serves it to this machine alone, under its own names, and ends when it is told to', async () => {
  const args = [PROGRAM, '--url', rig.server.url, 'board', '--port', '0', '--break']
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  rig.atEnd(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: unknown): void => {
      output += String(text)
      const [found] = /http:\/\/127\.0\.0\.1:\d+\//.exec(output) ?? []
      if (found !== undefined) {
        resolve(found)
      }
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('close', () => reject(new Error(`It ended: ${output}`)))
  })
  expect(await (await fetch(url)).text()).toContain('board.js')
  expect(await statusUnder(url, 'evil.example')).toBe(421)
  const locks = await rig.client()
  const hold = await locks.getLock('stuck').acquire()
  const { token } = (await (await fetch(`${url}token`)).json()) as { token: string }
  const query = new URLSearchParams({ lock: 'stuck', holder: hold.owner })
  const headers = { Origin: new URL(url).origin, 'X-Holdfast-Token': token }
  const reply = await fetch(`${url}break?${query.toString()}`, { method: 'POST', headers })
  expect(await reply.json()).toMatchObject({ outcome: 'released' })
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})
