import type { Election, Term } from '../../../src/entries/election/index.js'
import { aborted } from './outcomes.js'
import { signalled } from './rig.js'

/** A term that goes on until it is told to settle, whatever its signals say. Resolves when it has begun. */
export async function lastingTerm(election: Election) {
  const [begun, settle] = [signalled(), signalled()]
  const over = election.lead(async () => {
    begun.resolve()
    await settle.promise
  })
  await begun.promise
  return { term: election.term!, over, settle: settle.resolve }
}

/** A campaign whose terms go on until their signal aborts, to be looked at one by one. */
export function campaign(election: Election, signal?: AbortSignal) {
  const terms: Term[] = []
  const waiting: ((term: Term) => void)[] = []
  const over = election.lead(
    async (term) => {
      terms.push(term)
      waiting.shift()?.(term)
      await aborted(term.signal)
    },
    { signal },
  )
  over.catch(() => undefined)
  let asked = 0
  return {
    terms,
    over,
    /** The next term that was not asked for yet. */
    next: (): Promise<Term> => {
      asked += 1
      const known = terms[asked - 1]
      return known ? Promise.resolve(known) : new Promise((resolve) => waiting.push(resolve))
    },
  }
}
