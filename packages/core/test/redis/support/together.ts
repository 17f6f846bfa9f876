import { afterAll, it } from '@jest/globals'
import { Harness } from './harness.js'
import { PrivateServer } from './private-server.js'

/** What a test has for itself. */
interface Fixture {
  begin(): unknown
  /** Whether the test failed or not. */
  finish(): Promise<void>
}

// With more, a busy machine lets the short leases of tests end.
const AT_ONCE = 8

/** Tests of this file that wait, in their order. */
const waiting: (() => Promise<unknown>)[] = []
const begun: Promise<unknown>[] = []

const beginUpTo = (end: number): void => {
  while (begun.length < Math.min(end, waiting.length)) begun.push(waiting[begun.length]!())
}

// Where a part of the tests is run, others have begun as well.
afterAll(() => Promise.all(begun))

/**
 * Makes a function as `it`, for tests that wait for most of their time: while one is due, those after it wait, too. Each
 * has a fixture with names, or a server, of its own. A test that watches the process as a whole is a plain `it` before them.
 */
function together<F extends Fixture>(make: () => F) {
  return (title: string, check: (fixture: F) => Promise<void>): void => {
    const place = waiting.length
    waiting.push(() => outcomeOf(make(), check))
    it(title, async () => {
      beginUpTo(place + AT_ONCE)
      const outcome = await begun[place]
      if (outcome) throw outcome as Error
    })
  }
}

/** @returns what it failed with */
async function outcomeOf<F extends Fixture>(
  fixture: F,
  check: (fixture: F) => Promise<void>,
): Promise<unknown> {
  try {
    await fixture.begin()
    try {
      await check(fixture)
    } finally {
      await fixture.finish()
    }
  } catch (error) {
    return error
  }
  return undefined
}

class OwnHarness extends Harness {
  override async begin(): Promise<void> {
    await super.begin()
    await this.admin.connect()
  }

  override async finish(): Promise<void> {
    try {
      await super.finish()
    } finally {
      this.admin.disconnect()
    }
  }
}

export const itWithHarness = together(() => new OwnHarness())
export const itWithServer = together(() => new PrivateServer())
