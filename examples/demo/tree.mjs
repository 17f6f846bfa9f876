import { STEP_LIMIT_MS } from './settings.mjs'
import { within } from './time.mjs'

export const title = 'Tree walk: each node takes the same lock again, three levels down'

const TREE = {
  name: 'shop',
  children: [
    { name: 'garden', children: [{ name: 'tools', children: [{ name: 'spade' }] }] },
    { name: 'kitchen', children: [{ name: 'pots' }] },
  ],
}
const DOWN = '1 2 3 4 2 3'

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, prefix, say }) => {
  const lockName = `${prefix}:tree-lock`
  const [walker] = await crew.start(['walker'])
  walker.on('visit', ({ name, owner, depth, countIn }) => {
    if (depth === 1) say(`HGET ${lockName} ${owner}, asked inside each withLock:`)
    say(`${'  '.repeat(depth)}${name.padEnd(18 - 2 * depth)} hold count ${countIn}`)
  })
  const walk = walker.call('walk', { lockName, tree: TREE })
  const { visits, leftOver } = await within(walk, STEP_LIMIT_MS, 'end of the tree walk')
  say(leftOver ? 'the lock is still there after the walk' : 'after the walk the lock is gone from Redis')
  await walker.end()

  const seenIn = visits.map(({ countIn }) => countIn).join(' ')
  const unwound = visits.every(({ countIn, countOut }) => countIn === countOut)
  const claim = {
    claim: 'withLock re-enters, and Redis has the count',
    expected: `hold counts ${DOWN}, the same on the way back, then no lock`,
    seen: `hold counts ${seenIn}, ${unwound ? 'the same' : 'others'} on the way back, then ${leftOver ? 'a' : 'no'} lock`,
    ok: seenIn === DOWN && unwound && leftOver === 0,
  }
  return { claims: [claim] }
}
