import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, type Hold } from '@holdfast/core'
import { adopt, handOver, revoke } from '@holdfast/core/travel'
import { nowMs } from '../../run/shared-clock.js'
import { Attempt, release, trust, type Held } from '../../workload/attempt.js'
import { workMs, type CallerParts } from './workload.js'

/** How long a lock waits to be adopted. */
export const KEEP_MS = 2_000
const LONGEST_WAIT_MS = 2_500
const LANES = 6
/** Between what a process does and what it notes of it. */
const SLACK_MS = 500

/** The message of one process to the others about a hold that it handed over. */
interface Job {
  readonly lock: string
  readonly token: string
  readonly handedMs: number
}

/** A caller whose holds travel: it takes a lock or adopts one, and hands it on or releases it. */
export class Porter {
  readonly #parts: CallerParts
  #attempts = 0

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  async step(): Promise<void> {
    const { random, register } = this.#parts
    const job = (random.chance(0.8) ? await register.pop('jobs') : null) as Job | null
    const held = job ? await this.#adopt(job) : random.chance(0.3) ? await this.#take() : undefined
    if (held) {
      await sleep(workMs(random))
      trust(this.#parts.history, held)
      await (random.chance(0.7) ? this.#handOver(held) : this.#release(held))
    }
    await sleep(random.between(0, 30))
  }

  #take(): Promise<Held | undefined> {
    const { locks, random } = this.#parts
    const lane = random.whole(LANES)
    const tokens = lane % 2 === 0 ? 'counter' : 'time'
    const lock = `journey:${lane}${lane % 3 === 2 ? `:${tokens}` : ''}`
    const waitMs = random.between(0, LONGEST_WAIT_MS)
    const face =
      lane % 3 === 0
        ? locks.getLock(lock)
        : lane % 3 === 1
          ? locks.getFairLock(lock)
          : locks.getFencedLock(lock, { tokens })
    return this.#attempt(lock, waitMs, () => face.acquire({ waitMs }))
  }

  /** The queue delivers a job more often than once: one delivery alone gets the lock. */
  #adopt(job: Job): Promise<Held | undefined> {
    const { locks, register } = this.#parts
    return this.#attempt(job.lock, LONGEST_WAIT_MS, async () => {
      await register.count(triesOf(job))
      try {
        const hold = await adopt(locks, job.token)
        if ((await register.count(`adopted:${job.token}`)) > 1)
          throw new Error(`a token of ${job.lock} was adopted twice (I1)`)
        return hold
      } catch (error) {
        if (codeOf(error) === 'HANDOVER_GONE') await this.#lookWhoCame(job)
        throw error
      }
    })
  }

  /** Nobody but this one has come for it in time, and yet it was gone. */
  async #lookWhoCame(job: Job): Promise<void> {
    const { register, history } = this.#parts
    if (nowMs() - job.handedMs > KEEP_MS - SLACK_MS) return
    await sleep(SLACK_MS)
    if ((await register.count(triesOf(job), 0)) === 1)
      history.add('astray', { lock: job.lock, sinceMs: job.handedMs })
  }

  async #attempt(lock: string, deadlineMs: number, go: () => Promise<Hold>): Promise<Held | undefined> {
    const { history, name } = this.#parts
    const attempt = new Attempt(history, { lock, attempt: `${name}#${(this.#attempts += 1)}`, deadlineMs })
    try {
      return attempt.acquired(await go())
    } catch (error) {
      if (codeOf(error) === 'HANDOVER_GONE') attempt.refused()
      else attempt.endedBy(error)
      return undefined
    }
  }

  /** Some jobs are delivered more often than once, some are lost, and some are called back. */
  async #handOver({ hold, lock }: Held): Promise<void> {
    const { random, register, locks } = this.#parts
    const handedMs = nowMs()
    try {
      const token = await handOver(hold, { keepMs: KEEP_MS })
      const isCalledBack = random.chance(0.05)
      if (isCalledBack) await register.count(triesOf({ token }))
      if (!random.chance(0.05))
        for (let times = random.chance(0.2) ? 2 : 1; times > 0; times -= 1)
          await register.push('jobs', { lock, token, handedMs } satisfies Job)
      if (isCalledBack) await revoke(locks, token)
    } catch (error) {
      if (!(error instanceof LockError)) throw error
    }
  }

  async #release(held: Held): Promise<void> {
    try {
      await release(this.#parts.history, held)
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      const { lock, owner } = held
      this.#parts.history.add('released', { lock, owner, outcome: 'error', code: error.code })
    }
  }
}

const triesOf = ({ token }: Pick<Job, 'token'>): string => `tries:${token}`

const codeOf = (error: unknown): string => (error instanceof LockError ? error.code : '')
