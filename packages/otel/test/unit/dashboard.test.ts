import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { read } from '../../../core/test/redis/support/markdown.js'
import { everyMetric } from './support/every-metric.js'

/** The names in expressions of PromQL. */
const metricsIn = (text: string): string[] => [...new Set(text.match(/\bholdfast_lock_\w+/g) ?? [])]

describe('the example', () => {
  const telemetry = everyMetric()
  let names: Set<string>
  let labels: Set<string>

  beforeAll(async () => {
    const lines = (await telemetry.text()).split('\n').filter((line) => line.startsWith('holdfast_'))
    names = new Set(lines.map((line) => /^\w+/.exec(line)![0]))
    labels = new Set(lines.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label!)))
  })
  afterAll(() => telemetry.stop())

  const files = ['grafana/dashboards/holdfast.json', 'alerts.yml'].map(
    (file) => `examples/service/monitoring/${file}`,
  )

  it.each(files)('%s names only metrics and labels that are exported', (file) => {
    const named = metricsIn(read(file))
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !names.has(name) && !labels.has(name))).toEqual([])
  })

  it('shows every metric on the dashboard', () => {
    const dashboard = read(files[0]!)
    const metrics = new Set([...names].map((name) => name.replace(/_(bucket|count|sum)$/, '')))
    expect(metrics.size).toBe(9)
    expect([...metrics].filter((metric) => !dashboard.includes(metric))).toEqual([])
  })

  it('gives each panel of the dashboard a query and a description', () => {
    const { panels } = JSON.parse(read(files[0]!)) as {
      panels: { title: string; description: string; targets: { expr: string }[] }[]
    }
    expect(panels.length).toBeGreaterThan(5)
    expect(panels.filter(({ description, targets }) => !description || !targets[0]?.expr)).toEqual([])
  })
})
