import { beforeEach, describe, expect, it } from '@jest/globals'
import { CompoundHold } from '../../src/compound/compound-hold.js'
import type { Member, MemberHold } from '../../src/compound/member.js'
import { LockLostError } from '../../src/errors.js'
import { Loss } from '../../src/acquire/held-lease.js'

/** Members that the declarations of the package leave out. */
interface Joinable extends CompoundHold {
  readonly levels: readonly MemberHold[]
  join(level: MemberHold, members: readonly Member[]): boolean
  drop(level: MemberHold): void
}
const Joinable = CompoundHold as unknown as new (...parts: unknown[]) => Joinable

/** A level of one node that is trusted until it is lost. */
class Level {
  readonly loss = new Loss()
  trustedForMs = 1_000

  constructor(readonly member: Member) {}

  lose(): void {
    this.trustedForMs = 0
    this.loss.set(new LockLostError({ lockName: 'order', owner: 'c:1', reason: 'gone' }))
  }

  get asTaken(): MemberHold {
    const { member, loss } = this
    const hold = {
      owner: 'c:1',
      get lossError() {
        return loss.error
      },
      trustedOf: () => this.trustedForMs,
      get trustedForMs(): number {
        return this.trustedOf()
      },
    }
    return { member, hold, acquisition: { lease: { loss } }, siblingMutex: null } as unknown as MemberHold
  }
}

describe('a node joins a hold of two of three', () => {
  const members = [0, 1, 2].map((index) => ({ index })) as unknown as [Member, Member, Member]
  let first: Level
  let second: Level
  let joining: MemberHold
  let hold: Joinable

  beforeEach(() => {
    first = new Level(members[0])
    second = new Level(members[2])
    joining = new Level(members[1]).asTaken
    const rule = { needed: 2, patienceMs: 200, tooFew: () => new Error('too few') }
    hold = new Joinable('order', [first.asTaken, second.asTaken], rule, {})
  })

  it('while its majority is held and trusted, in the order of the members; then one of the others may go', () => {
    expect(hold.join(joining, members)).toBe(true)
    expect(hold.levels.map(({ member }) => member)).toEqual(members)
    first.lose()
    expect(hold.isLost).toBe(false)
    expect(hold.trustedForMs).toBe(1_000)
  })

  it('once only', () => {
    expect(hold.join(joining, members)).toBe(true)
    expect(hold.join(new Level(members[1]).asTaken, members)).toBe(false)
  })

  it('not after its majority has ended, also where nobody has looked since, and it stays lost (I1)', () => {
    first.lose()
    expect(hold.join(joining, members)).toBe(false)
    expect(hold.isLost).toBe(true)
  })

  it('not when its majority is not trusted at this moment (I1)', () => {
    first.trustedForMs = 0
    expect(hold.join(joining, members)).toBe(false)
  })

  it('aborts its signal as the others do, when it is lost and makes them too few', () => {
    const { signal } = hold
    const level = new Level(members[1])
    expect(hold.join(level.asTaken, members)).toBe(true)
    first.lose()
    expect(signal.aborted).toBe(false)
    level.lose()
    expect(signal.aborted).toBe(true)
  })

  it('forgets a level that was lost without forgetting that too few are left', () => {
    hold.join(joining, members)
    first.lose()
    hold.drop(hold.levels[0] as MemberHold)
    expect(hold.levels).toHaveLength(2)
    second.lose()
    expect(hold.isLost).toBe(true)
  })
})
