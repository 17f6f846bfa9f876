import { afterAll, describe as describeOfJest, it as itOfJest } from '@jest/globals'
import { AsyncLocalStorage } from 'node:async_hooks'
import { atOnce } from './at-once.js'
import { LockWorkers, type StartLockWorker } from './lock-workers.js'
import { Nodes } from './nodes.js'
import { Rig, standIn, type RigOptions } from './rig.js'
import { SmallPrograms } from './small-program.js'
import { Warnings } from './warnings.js'

// For files whose tests wait for most of their time: with this `it` the tests after one wait beside it, each with names, a
// server or programs of its own. They share no variable that a hook sets. A test that watches the process as a whole is one
// of Jest's, before the others.

/** A thing that each test has for itself. */
interface Fixture<Own> {
  begin(): Own | Promise<Own>
  /** Called whether the test failed or not. */
  finish(own: Own): unknown
}
type AnyFixture = Fixture<unknown>

// With more, a busy machine lets the short leases of tests end. One where a mistake is planted, and a test may hang.
const AT_ONCE = Number(process.env['HOLDFAST_TESTS_AT_ONCE'] ?? 4)

const current = new AsyncLocalStorage<Map<AnyFixture, unknown>>()
/** The tests of this file, in their order. */
const tests: (() => Promise<unknown>)[] = []
const begun: Promise<unknown>[] = []
/** Those of the `describe` whose body runs, and of those around it. */
let wanted: readonly AnyFixture[] = []

type Check = (...args: unknown[]) => unknown

const testOf = (check: Check, args: readonly unknown[] = []): (() => Promise<void>) => {
  const [place, fixtures] = [tests.length, wanted]
  tests.push(() => current.run(new Map(), () => failureOf(fixtures, async () => await check(...args))))
  return async () => {
    // Not those before it: where a part of the tests is run, they are not asked for.
    const end = Math.min(place + AT_ONCE, tests.length)
    for (let each = place; each < end; each += 1) begun[each] ??= tests[each]!()
    const failure = await begun[place]
    if (failure !== undefined) throw failure as Error
  }
}

const failureOf = async (
  [fixture, ...others]: readonly AnyFixture[],
  check: () => Promise<unknown>,
): Promise<unknown> => {
  const failures: unknown[] = []
  const attempt = (step: () => unknown): Promise<void> =>
    Promise.resolve()
      .then(step)
      .then(
        () => undefined,
        (error: unknown) => void failures.push(error),
      )
  if (fixture === undefined) await attempt(check)
  else {
    await attempt(async () => {
      const own = await fixture.begin()
      current.getStore()!.set(fixture, own)
      failures.push(...[await failureOf(others, check)].filter((each) => each !== undefined))
      await attempt(() => fixture.finish(own))
    })
  }
  return failures[0]
}

const argumentsIn = (row: unknown): unknown[] => (Array.isArray(row) ? row : [row])

export const it = Object.assign(
  (title: string, check: Check, limitMs?: number) => {
    itOfJest(title, testOf(check), limitMs)
  },
  {
    each: (table: readonly unknown[]) => (title: string, check: Check, limitMs?: number) => {
      for (const row of table) itOfJest.each([row])(title, testOf(check, argumentsIn(row)), limitMs)
    },
  },
) as unknown as typeof itOfJest

/** The same as `itAtOnce` of at-once.ts. */
export const itAtOnce = <T extends { readonly name: string }>(
  title: string,
  all: readonly T[],
  check: (each: T) => Promise<void>,
): void => {
  it(`${title}: ${all.map(({ name }) => name).join(', ')}`, () => atOnce(all, check))
}

const scope =
  (body: (...args: unknown[]) => void) =>
  (...args: unknown[]): void => {
    const around = wanted
    body(...args)
    wanted = around
  }

export const describe = Object.assign(
  (title: string, body: () => void) => {
    describeOfJest(title, scope(body))
  },
  {
    each: (table: readonly unknown[]) => (title: string, body: (...args: unknown[]) => void) => {
      describeOfJest.each([...table])(title, scope(body))
    },
  },
) as unknown as typeof describeOfJest

/** @returns what stands for the thing of the test that uses it */
function use<Own extends object>(fixture: Fixture<Own>): Own {
  wanted = [...wanted, fixture]
  return standIn(() => current.getStore()?.get(fixture) as Own)
}

/** The same as `own` of rig.ts. */
export const own = <Own extends object>(make: () => Own | Promise<Own>): Own =>
  use({ begin: make, finish: () => undefined })

/** A server passes to a later test when one has ended well. */
export function useRig(options: RigOptions = {}): Rig {
  const idle: Rig[] = []
  const all = new Set<Rig>()
  const stop = async (rig: Rig): Promise<void> => {
    all.delete(rig)
    await rig.stop()
  }
  afterAll(async () => {
    await Promise.all(begun)
    await Promise.all([...all].map(stop))
  })
  const started = async (): Promise<Rig> => {
    const rig = new Rig(options)
    all.add(rig)
    await rig.start()
    return rig
  }
  return use({
    begin: async () => {
      const rig = idle.pop() ?? (await started())
      await rig.begin()
      return rig
    },
    finish: async (rig) => {
      await rig.finish()
      if (options.redis === 'test') await stop(rig)
      else idle.push(rig)
    },
  })
}

export const useNodes = (count: number): Nodes =>
  use({
    begin: async () => {
      const nodes = new Nodes(count)
      await nodes.begin()
      return nodes
    },
    finish: (nodes) => nodes.finish(),
  })

export const useSmallPrograms = (): SmallPrograms['start'] => {
  const programs = use({ begin: () => new SmallPrograms(), finish: (all) => all.finish() })
  return (...args) => programs.start(...args)
}

/** Those of the whole process: a test looks for what names something of its own. */
export const useWarnings = (): Warnings =>
  use({ begin: () => new Warnings().listen(), finish: (warnings) => warnings.ignore() })

export const useLockWorkers = (): StartLockWorker => {
  const workers = use({ begin: () => new LockWorkers(), finish: (all) => all.finish() })
  return (env) => workers.start(env)
}

// Where a part of the tests is run, others have begun as well.
afterAll(() => Promise.all(begun))
