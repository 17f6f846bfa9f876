// The module of every worker process: it serves the roles of the scenario that it is told, and loads no other.
import { serveWorker } from '@holdfast/faults/harness'
import type { Scenario } from './scenario.js'

const name = process.argv[2] ?? ''
const module = (await import(`../scenarios/${name}.js`)) as Record<string, Scenario>
const roles = Object.values(module)
  .find((each) => each.name === name)
  ?.worker?.()
if (!roles) throw new Error(`The scenario '${name}' has no worker.`)
serveWorker(roles)
