// One process that loads every package twice, as ESM and as CommonJS: the exports are the same, and both copies
// keep their contexts in the same place.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const store = () => globalThis[Symbol.for('holdfast.v1')]?.contexts

const PACKAGES = [
  '@holdfast/core',
  '@holdfast/core/decorators',
  '@holdfast/core/election',
  '@holdfast/core/http',
  '@holdfast/core/observe',
  '@holdfast/core/schedule',
  '@holdfast/core/share',
  '@holdfast/core/siblings',
  '@holdfast/core/travel',
  'holdfast',
  '@holdfast/watchdog',
  '@holdfast/waiter',
]
const esm = {}
for (const name of PACKAGES) esm[name] = await import(name)
const storeOfEsm = store()
assert.ok(storeOfEsm, 'the ESM copy of core keeps its contexts under globalThis')

const cjs = {}
for (const name of PACKAGES) cjs[name] = require(name)
assert.equal(store(), storeOfEsm, 'the CommonJS copy takes the store that is there')

for (const name of PACKAGES) {
  const names = Object.keys(esm[name]).filter((each) => each !== 'default' && each !== 'module.exports')
  assert.deepEqual(Object.keys(cjs[name]).sort(), names.sort(), `${name}: the same exports in both copies`)
  for (const each of names) {
    assert.equal(cjs[name][each].name, esm[name][each].name, `${name}: ${each} has one name in both copies`)
  }
}
assert.equal(esm.holdfast.LockClient, esm['@holdfast/core'].LockClient)
assert.equal(cjs.holdfast.LockClient, cjs['@holdfast/core'].LockClient)
assert.notEqual(esm.holdfast.LockClient, cjs.holdfast.LockClient, 'these must be two copies')

for (const copy of [esm, cjs]) {
  const { InvalidArgumentError, LockError } = copy['@holdfast/core']
  const refused = {
    decorators: ({ Locked }) => Locked({ waitMs: -1 }),
    election: ({ getElection }) => getElection(null, 'a'),
    http: ({ koaLocks }) => koaLocks(null),
    schedule: ({ exclusive }) => exclusive(null, 'a', async () => undefined),
  }
  for (const [entry, call] of Object.entries(refused)) {
    const isOurs = (error) => error instanceof InvalidArgumentError && error instanceof LockError
    assert.throws(() => call(copy[`@holdfast/core/${entry}`]), isOurs, `${entry}: one class per copy`)
  }
  const { isLockError, InvalidArgumentError: OfOther } = (copy === esm ? cjs : esm)['@holdfast/core']
  assert.throws(
    () => copy['@holdfast/core'].detached(null),
    (error) => isLockError(error, 'INVALID_ARGUMENT') && !(error instanceof OfOther),
    'isLockError knows the errors of the other copy',
  )
  for (const name of PACKAGES) {
    const classes = Object.entries(copy[name]).filter(([, value]) => typeof value === 'function')
    for (const [key, value] of classes)
      assert.equal(value.name, key, `${name}: a bundle keeps the name of ${key}`)
  }
}

const url = process.env.REDIS_URL
const a = await esm.holdfast.LockClient.connect(url)
const b = await cjs.holdfast.LockClient.connect(url)
try {
  const hold = await a.getLock('both-copies').acquire()
  const both = {
    message: /must be of the copy of @holdfast\/core that is called: this process has loaded two/,
  }
  assert.throws(() => a.getMultiLock(b.getLock('both-copies')), both)
  assert.throws(() => b.getRedLock(a.getLock('both-copies')), both)
  await assert.rejects(cjs['@holdfast/core/travel'].handOver(hold), both)
  const token = await esm['@holdfast/core/travel'].handOver(hold)
  await (await cjs['@holdfast/core/travel'].adopt(a, token)).release()
  await a.run(async () => {
    const outer = a.currentThreadId
    const ofA = storeOfEsm.getStore()
    await b.run(async () => {
      assert.equal(storeOfEsm.getStore().outer, ofA, 'a context of one copy stands inside that of the other')
      assert.notEqual(b.currentThreadId, undefined)
      assert.equal(a.currentThreadId, outer, 'and does not hide it')
      await a.getLock('both-copies').withLock(async () => {
        assert.equal(await b.getLock('both-copies').tryLock(), false, 'they exclude each other')
      })
    })
  })
} finally {
  await Promise.all([a.close(), b.close()])
}
console.log('ok')
