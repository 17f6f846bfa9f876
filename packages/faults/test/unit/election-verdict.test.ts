import { describe, expect, it } from '@jest/globals'
import { judge, type ElectionEvent } from '../../src/scenarios/election/verdict.js'

const LEASE_MS = 100
const NOTHING = { losses: 0, overlaps: 0, tokens: 0, untold: 0 }
const term = (owner: string, token: string, beganMs: number, endedMs: number): ElectionEvent[] => [
  { kind: 'began', atMs: beganMs, process: owner, owner, token, untilMs: endedMs + LEASE_MS },
  { kind: 'ended', atMs: endedMs, process: owner, owner, reason: 'resigned' },
]
const toldOf = (...tokens: string[]) =>
  tokens.map((token, i) => ({ owner: `w${i + 1}`, token, atMs: 10 + i * 1_000 }))
const lossAt = (atMs: number): ElectionEvent => ({
  kind: 'data-lost',
  atMs,
  untilMs: atMs + 5,
  process: 'runner',
})

describe('the verdict of an election', () => {
  it('finds nothing in terms that follow each other', () => {
    const events = [...term('w1', '9', 0, 50), ...term('w2', '10', 1_000, 1_050)]
    expect(judge(events, toldOf('9', '10'), LEASE_MS)).toEqual({ violations: [], apart: NOTHING })
  })

  it('finds an overlap, a token that is not larger, and a term that no follower was told of', () => {
    const events = [...term('w1', '10', 0, 50), ...term('w2', '9', 30, 90)]
    expect(judge(events, toldOf('10'), LEASE_MS)).toEqual({
      violations: [
        'I1 term 9 of w2 began 20.000 ms before term 10 of w1 was over',
        'I9 term 9 of w2 began after term 10',
        'a follower was never told of term 9 of w2',
      ],
      apart: NOTHING,
    })
  })

  it('compares each token with the largest before it', () => {
    const events = [
      ...term('w1', '10', 0, 50),
      ...term('w2', '8', 1_000, 1_050),
      ...term('w3', '9', 2_000, 2_050),
    ]
    const { violations } = judge(events, [], LEASE_MS)
    expect(violations.filter((text) => text.startsWith('I9'))).toEqual([
      'I9 term 8 of w2 began after term 10',
      'I9 term 9 of w3 began after term 10',
    ])
  })

  it('finds a follower that is told of an earlier term', () => {
    const { violations } = judge([], toldOf('2', '1'), LEASE_MS)
    expect(violations).toEqual(['I9 a follower was told of token 1 after 2'])
  })

  it('counts apart what the loss of data explains', () => {
    const events = [...term('w1', '10', 0, 50), lossAt(20), ...term('w2', '1', 30, 90)]
    const { violations, apart } = judge(events, toldOf('10'), LEASE_MS)
    expect(violations).toEqual([])
    expect(apart).toEqual({ losses: 1, overlaps: 1, tokens: 1, untold: 1 })
  })

  it('explains nothing by a loss that came before or after', () => {
    const events = [
      lossAt(0),
      ...term('w1', '10', 1_000, 1_050),
      ...term('w2', '9', 1_030, 1_090),
      lossAt(3_000),
    ]
    const told = [
      { owner: 'w1', token: '10', atMs: 1_001 },
      { owner: 'w2', token: '9', atMs: 1_031 },
    ]
    const { violations } = judge(events, told, LEASE_MS)
    expect(violations).toEqual([
      'I1 term 9 of w2 began 20.000 ms before term 10 of w1 was over',
      'I9 term 9 of w2 began after term 10',
      'I9 a follower was told of token 9 after 10',
    ])
  })
})
