// The module of every worker process: it serves the roles of the scenario that it is told.
import { serveWorker } from '@holdfast/testing'
import { scenarioNamed } from '../scenarios/index.js'

const name = process.argv[2] ?? ''
const roles = scenarioNamed(name)?.worker?.()
if (!roles) throw new Error(`The scenario '${name}' has no worker.`)
serveWorker(roles)
