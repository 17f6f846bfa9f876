import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { LOCK_CHANNELS } from '@holdfast/core'
import { read, rows, section } from '../../../core/test/redis/support/markdown.js'
import { ATTRIBUTES } from '../../src/attributes.js'
import { METRICS } from '../../src/metric-names.js'
import { everyMetric } from './support/every-metric.js'

const page = 'docs/telemetry.md'
const COMMON = [ATTRIBUTES.name, ATTRIBUTES.kind]
const underscored = (name: string): string => name.replaceAll('.', '_')

describe('docs/telemetry.md', () => {
  const telemetry = everyMetric()
  const table = rows(section(page, 'Metrics')).filter((row) => row.length === 5)
  let text = ''

  beforeAll(async () => {
    text = await telemetry.text()
  })
  afterAll(() => telemetry.stop())

  it('has every metric with its type and unit, and no other', () => {
    const described = table.map(([metric, type, unit]) => `${metric} ${type} ${unit}`).sort()
    const all = Object.values(METRICS).map(({ metric, type, unit }) => `${metric} ${type} ${unit}`)
    expect(described).toEqual(all.sort())
    expect(table.filter((row) => row[4] === '')).toEqual([])
  })

  it('has the attributes of each metric as they are exported', () => {
    for (const [metric, , , attributes] of table) {
      const lines = text.split('\n').filter((line) => line.startsWith(underscored(metric!)))
      const labels = new Set(
        lines.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label!)),
      )
      const others = [...labels].filter((label) => !/^(otel_scope_.*|le)$/.test(label))
      const expected = [...COMMON, ...attributes!.split(', ').filter(Boolean)].map(underscored)
      expect([metric, others.sort()]).toEqual([metric, expected.sort()])
    }
  })

  it('has every attribute and channel', () => {
    const spans: string[] = [ATTRIBUTES.owner, ATTRIBUTES.holder]
    const ofMetrics = Object.values(ATTRIBUTES).filter((name) => !spans.includes(name))
    const described = rows(section(page, 'Metrics')).filter((row) => row.length === 2)
    expect(described.map(([name]) => name).sort()).toEqual(ofMetrics.sort())
    expect(spans.filter((name) => !section(page, 'Spans').includes(`\`${name}\``))).toEqual([])
    expect(rows(section(page, 'Channels')).map(([name]) => name)).toEqual(Object.values(LOCK_CHANNELS))
  })

  it('names every kind, path and outcome of core', () => {
    const source = read('packages/core/src/diagnostics/messages.ts')
    const members = ['LockKind', 'CallOutcome', 'AcquisitionPath'].flatMap((type) => {
      const [, body] = new RegExp(`export type ${type} =([^]*?)\\n\\n`).exec(source)!
      return [...body!.matchAll(/'([^']+)'/g)].map(([, member]) => member!)
    })
    expect(members.length).toBeGreaterThan(15)
    expect(members.filter((member) => !section(page, 'Metrics').includes(`\`${member}\``))).toEqual([])
  })
})

describe('packages/otel/README.md', () => {
  it('lists exactly the options', () => {
    const [, declared] = /export interface InstrumentationOptions \{([^]*?)\n\}/.exec(
      read('packages/otel/src/options.ts'),
    )!
    const names = [...declared!.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name!)
    const listed = rows(section('packages/otel/README.md', '@holdfast/otel')).flatMap(([name]) =>
      name!.split(', '),
    )
    expect(listed.sort()).toEqual(names.sort())
  })
})
