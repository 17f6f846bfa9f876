import assert from 'node:assert/strict'
import { InvalidArgumentError, LockClient } from '@holdfast/core'

for (const [target, named] of [
  ['redis://:secret@localhost:6379', /neither ioredis, redis \(node-redis\) nor iovalkey is installed/],
  [{ url: 'redis://:secret@localhost:6379' }, /redis \(node-redis\) is installed/],
  [{ host: 'localhost' }, /ioredis is installed/],
]) {
  const error = await LockClient.connect(target).catch((thrown) => thrown)
  assert.ok(error instanceof InvalidArgumentError, String(error))
  assert.match(error.message, named)
  assert.doesNotMatch(error.message, /secret/)
}
