import { createServer } from 'node:http'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

const WORK_MS = 10

/**
 * An OAuth server with rotation: a refresh token is good once. One that comes a second time was stolen, as far as the
 * server can know, and it revokes the whole family: the user has to log in again (RFC 9700, section 4.14.2).
 */
export class Provider {
  refreshes = 0
  revocations = 0
  logins = 0
  #current = ''
  #server = createServer((request, response) => void this.#answer(request, response))

  /** Called with `before`, `between` (rotated, and not answered yet) and `after`, and the process that asks. */
  onStep = () => undefined

  async listen() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${this.#server.address().port}`
  }

  async close() {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** The refresh token that is good. */
  get current() {
    return this.#current
  }

  async #answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://provider')
    const from = Number(request.headers['x-process'])
    const reply = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (pathname === '/login') {
      this.logins += 1
      reply(200, this.#issue())
      return
    }
    await this.#step('before', from)
    if (searchParams.get('refresh_token') !== this.#current) {
      if (this.#current !== '') this.revocations += 1
      this.#current = ''
      reply(400, { error: 'invalid_grant' })
      return
    }
    this.refreshes += 1
    const issued = this.#issue()
    await this.#step('between', from)
    reply(200, issued)
    // By then it is stored.
    await sleep(WORK_MS)
    await this.#step('after', from)
  }

  async #step(step, from) {
    await this.onStep(step, from)
    await sleep(WORK_MS)
  }

  #issue() {
    this.#current = randomUUID()
    return { access_token: randomUUID(), refresh_token: this.#current }
  }
}
