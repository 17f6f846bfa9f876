import { describe, expect, it } from '@jest/globals'
import { lockNameTemplate } from '../../src/lock-name-template.js'
import { AllSeries } from '../../src/series.js'

const seriesBy = (nameOf: (name: string) => string): AllSeries =>
  new AllSeries({ nameOf, maxLockNames: 300 }, { timer: () => ({ record: () => undefined }) })

describe('what names resolve to', () => {
  it('is kept for those that are in use, however many come once between two uses of one', () => {
    const asked = new Map<string, number>()
    const nameOf = (name: string): string => {
      asked.set(name, (asked.get(name) ?? 0) + 1)
      return lockNameTemplate(name)
    }
    const series = seriesBy(nameOf)
    const inUse = ['payroll', 'stock', 'report:2']
    for (let i = 0; i < 10_000; i += 1) {
      series.of(`order:${i}`, 'reentrant')
      if (i % 100 === 0) {
        inUse.forEach((name) => series.of(name, 'fair'))
      }
    }
    expect(inUse.map((name) => asked.get(name))).toEqual([1, 1, 1])
    expect([...series.all()].map(({ attributes }) => attributes['holdfast.lock.name'])).toEqual([
      ...['order:*', 'payroll', 'stock', 'report:*'],
    ])
  })

  it('is one for each kind of a name', () => {
    const series = seriesBy((name) => name)
    const [first, other] = [series.of('a', 'reentrant'), series.of('a', 'fair')]
    for (let i = 0; i < 600; i += 1) {
      series.of(`b${i}`, 'reentrant')
    }
    expect(series.of('a', 'reentrant')).toBe(first)
    expect(series.of('a', 'fair')).toBe(other)
    expect(first).not.toBe(other)
  })
})
