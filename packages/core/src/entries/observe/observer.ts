import { WrongTypeError, type LockClient, type Runtime } from '../../index.js'
import {
  checkInteger,
  checkName,
  type LockServices,
  looksLikeToken,
  stepOf,
  isForbidden,
  fairQueueKeys,
  grantQueueKey,
  keyPattern,
  noteKey,
  observerChannels,
  probeKey,
  reportKeys,
  tokenKey,
  waitingWriters,
  type KeyScan,
  type ScannedType,
  sessionOf,
} from '../door.js'
import { eventsIn, wantedText, type LockEvent } from './live-events.js'
import { factsIn, INTERVALS_KEPT, type ClientReport } from './report-text.js'
import {
  look,
  readReports,
  reportingClients,
  statesOf,
  tell,
  type KeysOfLock,
  type KeyState,
  type LookReply,
} from './scripts.js'
import { Overtakings } from './overtakings.js'
import { seenLock, type SeenLock } from './seen-lock.js'

/** One step through the keys of Redis. */
export interface ScanStep {
  /** Names that may be those of locks: `look` tells. */
  readonly names: readonly string[]
  /** Whether all keys have been seen since the first step, or since the last time. */
  readonly endsPass: boolean
}

/** A key that a lock may have. */
export interface KeyOfLock extends KeyState {
  readonly key: string
}

/**
 * Looks at locks without taking any: of every kind, of Holdfast, Redisson and, where the client has `foreignLocks`, of
 * other libraries. It listens to no lock's channel: a listener there changes how a lock is granted. Every method
 * rejects with RedisUnavailableError without a reply within `commandTimeout`, and with ClientClosedError once the client
 * is closed.
 */
export interface LockObserver {
  /** The client's, with timers that do not keep the process alive. */
  readonly runtime: Runtime
  /** Takes one SCAN step of about `count` keys; the next call goes on from there. */
  scan(count: number): Promise<ScanStep>
  /**
   * Asks Redis what it knows about each lock, and for the first `mostWaiters` of its waiters. Names without an
   * entry are free, or no locks. Small scripts of at most 25 locks each, all sent at once.
   */
  look(names: readonly string[], mostWaiters?: number): Promise<ReadonlyMap<string, SeenLock>>
  /**
   * Asks Redis about one lock, and for the first `mostWaiters` of its waiters (default 20). Unlike `look` it guesses
   * nothing: with the client's `foreignLocks`, any string of that name counts as held, with or without a time to live.
   * @returns undefined: it is free
   * @throws InvalidArgumentError; WrongTypeError the name is that of something else; RedisUnavailableError also if this user
   *   may not read all keys of the lock
   */
  ask(name: string, mostWaiters?: number): Promise<SeenLock | undefined>
  /** Reads the keys that a lock of this name may have. */
  keysOf(name: string): Promise<readonly KeyOfLock[]>
  /** Reads the reports written since the last call, and all clients that report. */
  reports(): Promise<{ readonly fresh: readonly ClientReport[]; readonly clientIds: readonly string[] }>
  /** Asks reporting clients to publish events of these locks as they happen, for `forMs`. At most 50 names. */
  follow(names: readonly string[], forMs: number): Promise<void>
  /** Resolves when events that `follow` asks for will be heard; with a function that ends it. */
  listen(listener: (events: readonly LockEvent[]) => void): Promise<() => Promise<void>>
}

/** Makes an observer of the locks in the Redis of this client, and sends nothing yet. @throws InvalidArgumentError */
export function observe(locks: LockClient): LockObserver {
  return new Observer(sessionOf(locks))
}

// Redis is blocked during a script.
const LOCKS_A_SCRIPT = 25
const REPORTS_A_SCRIPT = 20
const MOST_WAITERS = 20

class Observer implements LockObserver {
  readonly runtime: Runtime
  private passes: readonly { readonly scan: KeyScan; readonly type: ScannedType }[] = []
  private pass = 0
  private cursor = '0'
  /** Until when the last report of each client lasts. */
  private seenReports: ReadonlyMap<string, number> = new Map()
  private readonly overtakings = new Overtakings()

  constructor(private readonly session: LockServices) {
    this.runtime = session.options.background
  }

  async scan(count: number): Promise<ScanStep> {
    checkInteger('count', count, 1)
    const { session } = this
    session.assertOpen('')
    if (this.pass === this.passes.length) {
      // Once for each pass: the nodes of a cluster change.
      this.passes = session.port.scans().flatMap((scan) => this.types.map((type) => ({ scan, type })))
      this.pass = 0
      this.cursor = '0'
    }
    const current = this.passes[this.pass]
    if (!current) {
      return { names: [], endsPass: true }
    }
    const { keyPrefix } = session
    const pattern = keyPattern(keyPrefix, '*')
    const page = await stepOf(session, () => current.scan(this.cursor, pattern, count, current.type))
    this.cursor = page.cursor
    if (page.cursor === '0') {
      this.pass += 1
    }
    const names = page.keys.map((key) => key.slice(keyPrefix.length)).filter((name) => name !== '')
    return { names, endsPass: this.pass === this.passes.length }
  }

  async look(names: readonly string[], mostWaiters = MOST_WAITERS): Promise<ReadonlyMap<string, SeenLock>> {
    checkInteger('mostWaiters', mostWaiters, 1)
    this.session.assertOpen('')
    const batches = this.batchesOf(names)
    const found = await Promise.all(batches.map((batch) => this.lookAt(batch, mostWaiters)))
    return new Map(found.flat().map((lock) => [lock.name, lock]))
  }

  async ask(name: string, mostWaiters = MOST_WAITERS): Promise<SeenLock | undefined> {
    checkName(name)
    checkInteger('mostWaiters', mostWaiters, 1)
    const { session, areStringsLocks } = this
    session.assertOpen(name)
    const locks = [this.keysOfLock(name)]
    const probe = probeKey(session.keyPrefix + name)
    const [reply] = await look(session.runner, { locks, probe, mostWaiters, areStringsLocks, asked: name })
    return reply && reply.holds.size > 0 ? seenLock(name, reply, this.overtakings) : undefined
  }

  async keysOf(name: string): Promise<readonly KeyOfLock[]> {
    this.session.assertOpen(name)
    const [hash, note, token, list, arrivals, line, writers] = this.keysOfLock(name)
    const [, timeouts, , heartbeats] = fairQueueKeys(hash)
    const keys = [hash, note, token, list, timeouts, arrivals, heartbeats, line, writers]
    const states = await statesOf(this.session.runner, keys, probeKey(hash))
    return keys.map((key, i) => ({ key, ...(states[i] as KeyState) }))
  }

  async reports(): Promise<{ fresh: readonly ClientReport[]; clientIds: readonly string[] }> {
    const { session, seenReports } = this
    session.assertOpen('')
    const { runner, keyPrefix } = session
    const { clients, reports, probe } = reportKeys(keyPrefix)
    const known = await reportingClients(runner, clients, probe)
    const changed = [...known].filter(([id, until]) => seenReports.get(id) !== until).map(([id]) => id)
    const fresh = await Promise.all(
      chunksOf(changed, REPORTS_A_SCRIPT).map(async (ids) => {
        const keys = ids.map((id) => reports + id)
        const texts = await readReports(runner, keys, probe)
        return texts.flatMap(({ text, lastsMs }, i) => reportIn(ids[i] as string, text, lastsMs) ?? [])
      }),
    )
    this.seenReports = known
    return { fresh: fresh.flat(), clientIds: [...known.keys()] }
  }

  follow(names: readonly string[], forMs: number): Promise<void> {
    const { runner, keyPrefix } = this.session
    const { wanted } = observerChannels(keyPrefix)
    return tell(runner, wanted, wantedText(names, forMs), reportKeys(keyPrefix).probe)
  }

  async listen(listener: (events: readonly LockEvent[]) => void): Promise<() => Promise<void>> {
    const { topics } = this.session.waiter
    const { events } = observerChannels(this.session.keyPrefix)
    const onMessage = (message: string): void => {
      const told = eventsIn(message)
      if (told.length > 0) {
        listener(told)
      }
    }
    await topics.add(events, onMessage)
    return () => topics.remove(events, onMessage)
  }

  private get types(): readonly ScannedType[] {
    return this.areStringsLocks ? ['hash', 'string'] : ['hash']
  }

  private get areStringsLocks(): boolean {
    return this.session.options.foreignLocks !== 'error'
  }

  private keysOfLock(name: string): KeysOfLock {
    const key = this.session.keyPrefix + name
    const [list, , arrivals] = fairQueueKeys(key)
    return [key, noteKey(key), tokenKey(key), list, arrivals, grantQueueKey(key), waitingWriters(key)]
  }

  /** On a cluster those of one slot. A name whose keys are in two slots is no lock's there. */
  private batchesOf(names: readonly string[]): string[][] {
    const { runner, keyPrefix } = this.session
    const bySlot = new Map<number | undefined, string[]>()
    for (const name of names) {
      const slot = runner.slotOf(keyPrefix + name)
      if (slot === undefined || slot === runner.slotOf(noteKey(keyPrefix + name))) {
        bySlot.set(slot, [...(bySlot.get(slot) ?? []), name])
      }
    }
    return [...bySlot.values()].flatMap((each) => chunksOf(each, LOCKS_A_SCRIPT))
  }

  private async lookAt(names: readonly string[], mostWaiters: number): Promise<readonly SeenLock[]> {
    const { areStringsLocks } = this
    const locks = names.map((name) => this.keysOfLock(name))
    const probe = probeKey(this.session.keyPrefix + (names[0] as string))
    try {
      const replies = await look(this.session.runner, { locks, probe, mostWaiters, areStringsLocks })
      return replies.flatMap((reply, i) => {
        const name = names[i] as string
        if (isLock(reply)) {
          return [seenLock(name, reply, this.overtakings)]
        }
        this.overtakings.forget(name)
        return []
      })
    } catch (error) {
      // The user may not read one of them, and Redis refuses them all.
      if (!isForbidden(error) && !(error instanceof WrongTypeError)) {
        throw error
      }
      const alone = names.length > 1 ? names.map((name) => this.lookAt([name], mostWaiters)) : []
      return (await Promise.all(alone)).flat()
    }
  }
}

function isLock(reply: LookReply | null): reply is LookReply {
  return reply !== null && (!reply.isForeign || looksLikeToken(reply))
}

function reportIn(clientId: string, text: string, lastsMs: number): ClientReport | null {
  const facts = text === '' ? null : factsIn(text)
  return facts && { ...facts, clientId, agoMs: Math.max(0, INTERVALS_KEPT * facts.everyMs - lastsMs) }
}

function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
}
