import { describe, expect, it } from '@jest/globals'
import { nullIfMissing } from '../../src/redis/load-client.js'

const failed = (code: string, message: string): Error => Object.assign(new Error(message), { code })

// The errors of each of them for a package that is not there.
const MISSING: Record<string, Error> = {
  "Node's import()": failed(
    'ERR_MODULE_NOT_FOUND',
    "Cannot find package 'ioredis' imported from /app/node_modules/@holdfast/core/dist/internal.js",
  ),
  "Node's require()": failed(
    'MODULE_NOT_FOUND',
    "Cannot find module 'ioredis'\nRequire stack:\n- /app/index.js",
  ),
  "Yarn Plug'n'Play, of an optional peer": failed(
    'MODULE_NOT_FOUND',
    "@holdfast/core tried to access ioredis (a peer dependency) but it isn't provided by your application; this makes " +
      'the require call ambiguous and unsound.\n\nRequired package: ioredis\n' +
      'Required by: @holdfast/core@virtual:1#npm:0.1.0 (via /app/.yarn/cache/core.zip/dist/)\n',
  ),
}

describe('a Redis client that is not installed', () => {
  it.each(Object.keys(MISSING))('is told from what is said by %s', (by) => {
    expect(nullIfMissing(MISSING[by], 'ioredis')).toBeNull()
  })

  it('is not one that is there and broken', () => {
    const inside = failed(
      'ERR_MODULE_NOT_FOUND',
      "Cannot find package 'denque' imported from /app/node_modules/ioredis/built/index.js",
    )
    expect(() => nullIfMissing(inside, 'ioredis')).toThrow(inside)
  })
})
