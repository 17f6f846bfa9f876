// The bank and the carrier, for development. `node demo/sandbox.mjs` runs them at port 4000.
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

/** It counts what reaches it, so that it knows what the service has really done. */
export class Sandbox extends EventEmitter {
  logins = 0
  /** By the key of the order: `{ id, requests }`. */
  charges = new Map()
  parcels = new Map()
  /** How often two parcels were at the dock of one warehouse. */
  overlaps = 0
  chargeMs = 150
  parcelMs = 150

  #token = randomUUID()
  #docks = new Map()
  #server = createServer((request, response) => void this.#answer(request, response))

  async listen(port = 0) {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${this.#server.address().port}`
  }

  close() {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #answer(request, response) {
    const body = await json(request)
    const reply = (status, value) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (request.url === '/token') {
      this.logins += 1
      return reply(200, { access_token: this.#token, expires_in: 3_600 })
    }
    if (request.headers.authorization !== `Bearer ${this.#token}`) return reply(401, {})
    const key = request.headers['idempotency-key']
    if (request.url === '/charges') return reply(200, await this.#once(this.charges, key, this.chargeMs))
    this.#enter(body.warehouse)
    this.emit('parcel', { order: key, pid: Number(request.headers['user-agent'].split('/')[1]) })
    const parcel = await this.#once(this.parcels, key, this.parcelMs)
    this.#docks.set(body.warehouse, this.#docks.get(body.warehouse) - 1)
    reply(200, parcel)
  }

  #enter(warehouse) {
    const inside = this.#docks.get(warehouse) ?? 0
    if (inside > 0) this.overlaps += 1
    this.#docks.set(warehouse, inside + 1)
  }

  /** A key that comes again is given what the first request made. */
  async #once(made, key, workMs) {
    const known = made.get(key) ?? { id: randomUUID(), requests: 0 }
    known.requests += 1
    made.set(key, known)
    await sleep(workMs)
    return { id: known.id }
  }
}

if (process.argv[1] === import.meta.filename) {
  console.log(`the bank and the carrier: ${await new Sandbox().listen(4000)}`)
}
