import { expect } from '@jest/globals'
import type { Rig } from './rig.js'

export const NAME = 'order:42'
export const TOKEN_KEY = 'redisson_lock_token:{order:42}'

/** The keys of the fenced lock `NAME`. */
export const fencedKeys = (rig: Rig) => ({
  counter: (): Promise<string | null> => rig.admin.get(TOKEN_KEY),

  /** The lock, if somebody has it, and the counter, if anybody ever had it: nothing else. */
  async expectOnly(holds: Record<string, string> | null, token: string | null): Promise<void> {
    expect(await rig.contents()).toEqual({
      ...(holds && { [NAME]: { type: 'hash', value: holds } }),
      ...(token !== null && { [TOKEN_KEY]: { type: 'string', value: token } }),
    })
  },
})
