import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandsIn, type Fault, type FaultProxy, type Matcher } from '@holdfast/faults/harness'
import { renewScript } from '../../../../core/build/scripts/lock.js'
import type { SeededRandom } from '../../harness/seeded-random.js'
import { Counts } from './counts.js'

const LATEST_COPY_MS = 5_000
// How long a command is on its way, roughly: a cut within it comes before Redis has run the command, or after.
const ON_ITS_WAY_MS = 3
const LOSSES = [
  ...['reply lost', 'reply lost', 'reply lost, copied', 'reply lost, copied', 'reply lost, copied'],
  ...['request lost', 'request lost, copied', 'request lost, copied'],
]
const KINDS = [...LOSSES, 'cut', 'cut']

const scriptsIn = (bytes: Buffer): { code: string | undefined; keys: string[]; argv: string[] }[] =>
  commandsIn(bytes)
    .filter(([name = '']) => /^eval(sha)?$/i.test(name))
    .map(([, code, count, ...rest]) => ({
      code,
      keys: rest.slice(0, Number(count)),
      argv: rest.slice(Number(count)),
    }))

/** Matches a chunk with a script that touches the lock. */
const isAbout =
  (lock: string): Matcher =>
  (bytes) =>
    scriptsIn(bytes).some(({ keys }) => keys.includes(lock))

/** Matches a chunk with a renewal for this lease: `hold.extend` uses the same script with another. */
const isRenewal =
  (leaseMs: number): Matcher =>
  (bytes) =>
    scriptsIn(bytes).some(
      ({ code, argv }) => (code === renewScript.sha1 || code === renewScript.lua) && argv[0] === `${leaseMs}`,
    )

interface Sabotage {
  readonly happened: Promise<void>
  /** Disarms it. @returns what happened */
  readonly end: (operation: string) => string
}

/** Breaks what one client has under way, and lets what it sent arrive again up to 5 s later. */
export class Saboteur {
  /** How often something was broken, by what it hit and by how. */
  readonly hits = new Counts()
  readonly kinds = new Counts()
  copiesDelivered = 0
  readonly #proxy: FaultProxy
  readonly #random: SeededRandom
  readonly #copies = new Set<Promise<void>>()

  constructor(proxy: FaultProxy, random: SeededRandom) {
    this.#proxy = proxy
    this.#random = random
  }

  /** Breaks the next request about a lock. @param tell hears what happens after the end */
  aim(lock: string, tell: (line: string) => void): Sabotage {
    return this.#arm(this.#random.pick(KINDS), isAbout(lock), tell)
  }

  /** Breaks one of the watchdog's renewals after another, but not every one: a hold is lost without any. */
  async harassWatchdog(leaseMs: number, signal: AbortSignal): Promise<void> {
    const stopped = once(signal, 'abort')
    while (!signal.aborted) {
      const sabotage = this.#arm(this.#random.pick(LOSSES), isRenewal(leaseMs), () => undefined)
      await Promise.race([sabotage.happened, stopped])
      sabotage.end('renewal of the watchdog')
      await Promise.race([sleep(this.#random.between(0, leaseMs / 3)), stopped])
    }
  }

  /** Resolves when the last copy has been delivered; rejects when one could not be. */
  async allDelivered(): Promise<void> {
    while (this.#copies.size > 0) await Promise.all(this.#copies)
  }

  #arm(kind: string, match: Matcher, tell: (line: string) => void): Sabotage {
    const copyInMs = kind.endsWith('copied') ? this.#random.whole(LATEST_COPY_MS) : null
    let [isOver, isHit] = [false, false]
    let happen = (): void => undefined
    const happened = new Promise<void>((resolve) => (happen = resolve))
    const strike = (): boolean => {
      happen()
      isHit = true
      return true
    }
    const faults = this.#faults(kind, (bytes) => match(bytes) && strike())
    if (copyInMs !== null) faults.push(this.#copy(match, copyInMs, tell))
    if (kind === 'cut') {
      const cut = (): void => {
        if (isOver) return
        strike()
        this.#proxy.cutAll()
      }
      setTimeout(cut, this.#random.between(0, ON_ITS_WAY_MS))
    }
    const end = (operation: string): string => {
      isOver = true
      faults.forEach((fault) => fault.cancel())
      if (!isHit) return 'nothing broken'
      this.hits.add(operation)
      this.kinds.add(kind)
      return copyInMs === null ? kind : `${kind} in ${copyInMs} ms`
    }
    return { happened, end }
  }

  #faults(kind: string, match: Matcher): Fault[] {
    const proxy = this.#proxy
    if (kind.startsWith('reply')) return [proxy.loseReply(match, this.#random.chance(0.2) ? 2 : 1)]
    return kind.startsWith('request') ? [proxy.loseRequest(match)] : []
  }

  #copy(match: Matcher, delayMs: number, tell: (line: string) => void): Fault {
    const expect = (): boolean => {
      const delivered = copy.happened.then(() => {
        this.copiesDelivered += 1
        this.#copies.delete(delivered)
        tell('a late copy was delivered')
      })
      // One that failed stays, for `allDelivered` to reject with.
      delivered.catch(() => undefined)
      this.#copies.add(delivered)
      return true
    }
    const copy = this.#proxy.copyLate((bytes) => match(bytes) && expect(), delayMs)
    return copy
  }
}
