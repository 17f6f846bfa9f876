import { optionsFor } from '../connection.mjs'
import { waitingByName } from '../contestants/index.mjs'

/** Contestants that this process has open, by variant. */
const opened = new Map()

/** @param {{ variant: import('../variants.mjs').Variant, url: string, runId: string }} what */
export const open = async ({ variant, url, runId }) => {
  const { load, shared } = waitingByName(variant.contestant)
  const make = await load()
  const { flow } = await make({ options: optionsFor(url, false), runId, waits: variant.waits })
  opened.set(variant.name, { flow, shared })
}

/** Locks, does something, unlocks. @param {{ variant: string, name: string }} what */
export const flowOf = ({ variant, name }) => opened.get(variant).flow(name)

/** The same for so many callers: of one lock object where it tells them apart, as they would. */
export const flowsOf = ({ variant, name }, count) => {
  const { flow, shared } = opened.get(variant)
  if (!shared) return Array.from({ length: count }, () => flow(name))
  const one = flow(name)
  return Array.from({ length: count }, () => one)
}
