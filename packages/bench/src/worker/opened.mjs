import { optionsFor } from '../connection.mjs'
import { waitingByName } from '../contestants/index.mjs'

/** Contestants that this process has open, by variant. */
const opened = new Map()

/** @param {{ variant: import('../variants.mjs').Variant, url: string, runId: string }} what */
export const open = async ({ variant, url, runId }) => {
  const make = await waitingByName(variant.contestant).load()
  opened.set(variant.name, await make({ options: optionsFor(url, false), runId, waits: variant.waits }))
}

/** Locks, does something, unlocks. @param {{ variant: string, name: string }} what */
export const flowOf = ({ variant, name }) => opened.get(variant).flow(name)
