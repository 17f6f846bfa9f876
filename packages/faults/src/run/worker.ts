// The module of every worker process: it serves the roles of the scenario that it is told, and loads no other.
import { register } from 'node:module'
import { serveWorker } from '@holdfast/faults/harness'
import type { Scenario } from './scenario.js'

const [, , name = '', core] = process.argv
// Before anything that imports it.
if (core !== undefined) {
  register('./core-hook.js', import.meta.url, { data: core })
  if (!import.meta.resolve('@holdfast/core').endsWith(core)) throw new Error(`${core} is not what is loaded.`)
}
const module = (await import(`../scenarios/${name}.js`)) as Record<string, Scenario>
const roles = Object.values(module)
  .find((each) => each.name === name)
  ?.worker?.()
if (!roles) throw new Error(`The scenario '${name}' has no worker.`)

/** For the fault `event-loop-blocked`: nothing else of this process runs meanwhile. */
const block = (forMs: number): void => {
  const end = performance.now() + forMs
  while (performance.now() < end);
}
serveWorker({ block, ...roles })
