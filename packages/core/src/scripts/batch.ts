import { probeKey } from '../keys.js'
import { defineScript } from './define-script.js'

export const batchScript = defineScript('batch')

/** Redis does nothing else while a script runs: more items would only make others wait longer. */
export const USUAL_ITEMS = 32
export const MOST_ITEMS = 64

export interface BatchItem {
  readonly script: { readonly name: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** KEYS and ARGV of one batch, whose items are all of one cluster slot. */
export function encodeBatch(items: readonly BatchItem[]): { keys: string[]; args: string[] } {
  const keys = [probeKey(items[0]?.keys[0] ?? '')]
  for (const item of items) {
    keys.push(...item.keys)
  }
  return {
    keys,
    args: [JSON.stringify(items.map(({ script, args, keys }) => [script.name, args, keys.length]))],
  }
}
