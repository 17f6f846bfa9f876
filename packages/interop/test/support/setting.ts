import type { Kind } from './side.js'

/** The setting that `packages/interop/run/main.mjs` chose for this run. */
interface Setting {
  readonly mode: 'all' | 'smoke'
  /** How long each kind of lock is contended for. */
  readonly contentionMs: number
  /** The classpath of the driver in Java, with one version of Redisson. */
  readonly classPath: string
  /** Kinds that this version does not have. */
  readonly without: readonly Kind[]
  /** Kinds some of whose keys it does not give to a NameMapper. */
  readonly withoutMapped: readonly Kind[]
  /** Whether all of its scripts heed `fairLockWaitTimeout`. */
  readonly hasFairWait: boolean
  /** Whether an unlock of a lock that was lost is an IllegalMonitorStateException, whatever the kind. */
  readonly hasLossErrors: boolean
  /** Whether Java with Java and Node with Node are run too. */
  readonly withinOne: boolean
  /** The prefix of every name, on both sides. */
  readonly prefix?: string
}

const given = process.env.HOLDFAST_INTEROP
if (given === undefined) throw new Error('These tests are run by npm run test:interop.')

export const setting = JSON.parse(given) as Setting

/** The key of a name in Redis. */
export const rawName = (name: string): string => `${setting.prefix ?? ''}${name}`

/** Whether this version of Redisson can take part with that kind of lock, with names behind that prefix. */
export const has = (kind: Kind, prefix: string | undefined = setting.prefix): boolean =>
  !setting.without.includes(kind) && !(prefix !== undefined && setting.withoutMapped.includes(kind))
