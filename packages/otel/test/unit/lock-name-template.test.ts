import { describe, expect, it } from '@jest/globals'
import { lockNameTemplate } from '../../src/index.js'

describe('lockNameTemplate', () => {
  it.each([
    ['order:42', 'order:*'],
    ['order:42:items', 'order:*:items'],
    ['tenant/7/order/9', 'tenant/*/order/*'],
    ['{tenant:12}:stock', '{tenant:*}:stock'],
    ['order-42', 'order-*'],
    ['report:2026-11-21', 'report:*'],
    ['report-2026-11-21', 'report-*'],
    ['user:7f9c24e8-3b12-4fef-91e0-56a2d5a9c8d1', 'user:*'],
    ['commit:04d1053ab', 'commit:*'],
    ['session:V1StGXR8_Z5jdHi6B-myT', 'session:*'],
    ['job:01ARZ3NDEKTSV4RRFFQ69G5FAV', 'job:*'],
    ['mail:ann@example.org', 'mail:*'],
    ['shard12', 'shard*'],
    ['nightly-report', 'nightly-report'],
    ['facade:decade', 'facade:decade'],
    ['blob:YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo', 'blob:*'],
    ['', ''],
  ])('makes of %s %s', (name, template) => {
    expect(lockNameTemplate(name)).toBe(template)
  })
})
