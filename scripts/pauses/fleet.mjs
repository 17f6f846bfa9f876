import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { FaultProxy, WorkerProcess } from '@holdfast/testing'
import { lockOf, otherLock, ROLES, TAKEN } from './hand.mjs'

const RIVALS = 2
const module = (name) => new URL(name, import.meta.url)

/** Holders that are paused, each on a slow wire of its own, and rivals that are not and want the same locks. */
export class Fleet {
  holders = []
  files = []
  #rivals = []
  #observer
  #server
  #settings

  /** @param {{ folder: string, leaseMs: number, seed: number }} settings */
  constructor(server, settings) {
    this.#server = server
    this.#settings = settings
  }

  async start(holders) {
    this.#observer = await LockClient.connect(this.#server.url, {
      clientName: 'observer',
      bareCalls: 'allow',
    })
    await this.#observer.getLock(TAKEN).acquire()
    const names = Array.from({ length: holders }, (_, i) => `holder-${i}`)
    const locks = names.flatMap((name) => [...ROLES.map((role) => lockOf(role, name)), otherLock(name)])
    for (let i = 0; i < RIVALS; i += 1) await this.#startRival(`rival-${i}`, locks)
    for (const name of names) await this.#startHolder(name)
  }

  /** One pause of one holder. Gives how often a call of the library resumed the user. */
  async pause({ process }, { way, part }) {
    const ms = part * this.#settings.leaseMs
    const round = process.call('round', { way, ms, part })
    if (way === 'stopped') {
      await Promise.race([process.once('ready'), round])
      await process.pause()
      await sleep(ms)
      process.resume()
    }
    return round
  }

  /** Lets every process come to its end. */
  async finish() {
    await Promise.all([...this.holders, ...this.#rivals].map(({ process }) => process.call('finish')))
    await this.#observer.close({ graceMs: 0 })
  }

  /** Whatever state it is in. */
  async stop() {
    await Promise.all([...this.holders, ...this.#rivals].map(({ process }) => process.kill()))
    await Promise.all(this.holders.map(({ proxy }) => proxy.stop()))
    await this.#observer?.close({ graceMs: 0 })
  }

  async #startRival(name, locks) {
    const process = await WorkerProcess.start(module('./rival.mjs'))
    this.#rivals.push({ name, process })
    await process.call('begin', { ...this.#participant(name), port: this.#server.port, locks })
  }

  async #startHolder(name) {
    const proxy = await FaultProxy.start(this.#server)
    const process = await WorkerProcess.start(module('./holder.mjs'))
    this.holders.push({ name, process, proxy })
    // Calls have to be under way when the pause begins, and their answers must come during it.
    proxy.delay(Math.min(25, this.#settings.leaseMs / 40))
    await process.call('begin', { ...this.#participant(name), port: proxy.port })
  }

  #participant(name) {
    const { folder, leaseMs, seed } = this.#settings
    const file = join(folder, `${name}.jsonl`)
    this.files.push(file)
    const number = this.files.length
    return {
      name,
      file,
      leaseMs,
      directPort: this.#server.port,
      // Over during the longer pauses, so that this timer of the library resumes somebody too.
      commandTimeoutMs: leaseMs / 2,
      seed: seed * 100 + number,
    }
  }
}
