import type { SeededRandom } from '../../harness/seeded-random.js'
import { type Keyspace, SortedSet } from '../engine.js'

/** A message to the channel of a client, from somebody who may publish and has read the keys of a lock. */
export interface ForgedMessage {
  readonly channel: string
  readonly payload: string
}

const NO_PROOF = '0'.repeat(40)

const clientOf = (owner: string): string => owner.slice(0, owner.indexOf(':'))

const to = (owner: string, payload: string): ForgedMessage => ({
  channel: `holdfast:client:${clientOf(owner)}`,
  payload,
})

const grantTo = (owner: string, untilMs: number): ForgedMessage =>
  to(owner, `2:grant:${NO_PROOF}:${untilMs}:${owner}`)

const sortedSetAt = (keyspace: Keyspace, key: string): SortedSet | undefined => {
  const value = keyspace.get(key)
  return value instanceof SortedSet ? value : undefined
}

/** Grants to those in the queue, until the moment that each of them was told by Redis: see `lock/queue.part.lua`. */
const grants = (keyspace: Keyspace, lock: string): ForgedMessage[] => {
  const line = sortedSetAt(keyspace, `holdfast:line:{${lock}}`)
  const plain = (line?.members ?? []).flatMap((member) => {
    const owner = /^alive:(.+)$/.exec(member)?.[1]
    return owner === undefined ? [] : [grantTo(owner, -(line?.score(member) ?? 0))]
  })
  const heartbeats = keyspace.hash(`holdfast:heartbeats:{${lock}}`)
  const fair = (sortedSetAt(keyspace, `holdfast:arrivals:{${lock}}`)?.members ?? []).flatMap((owner) => {
    const untilMs = heartbeats?.get(clientOf(owner))?.split(' ')[0]
    return untilMs === undefined ? [] : [grantTo(owner, Number(untilMs))]
  })
  return [...plain, ...fair]
}

/** That the hold of an owner was released by force: the bare owner. */
const losses = (keyspace: Keyspace, lock: string): ForgedMessage[] =>
  [...(keyspace.hash(lock)?.keys() ?? [])]
    .filter((owner) => owner.includes(':'))
    .map((owner) => to(owner, owner))

/** One of what could be said of a lock, as it is now; undefined: nobody has it or wants it. */
export const forgedMessage = (
  keyspace: Keyspace,
  lock: string,
  chance: SeededRandom,
): ForgedMessage | undefined => {
  const all = [...grants(keyspace, lock), ...losses(keyspace, lock)]
  return all.length === 0 ? undefined : chance.pick(all)
}
