import { Cluster } from 'ioredis'
import { LockClient } from '@holdfast/core'
import type { Connection } from '../connection.js'
import { EXIT } from '../exit-code.js'
import { printable, type Output } from '../terminal.js'
import type { Diagnosis, Finding, Unchecked } from './finding.js'
import { checkLocks, checkRights, type LockKeys } from './lock-checks.js'
import { findingsOf } from './server-checks.js'
import { factsOf } from './server-facts.js'

/** A server that refuses every lock: what else is asked of it says the same once more. */
const REFUSES_ALL = new Set(['version', 'replica', 'persistence-fails'])

/** `doctor`: what endangers locks on this server, with its remedy. Silent about what is well. */
export async function doctor(connection: Connection, output: Output): Promise<number> {
  const { findings, unchecked } = await diagnose(connection)
  if (output.json) {
    output.value({ server: connection.described, findings, unchecked })
  } else {
    print({ findings, unchecked }, connection, output)
  }
  return findings.length === 0 ? EXIT.done : EXIT.no
}

/**
 * Looks at the server and the locks on it; resolves when it has seen all keys.
 * @param wallNow this machine's clock
 * @throws RedisUnavailableError Redis cannot be reached
 */
export async function diagnose(connection: Connection, wallNow: () => number = Date.now): Promise<Diagnosis> {
  const redis = await connection.ready()
  const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis]
  const unchecked: Unchecked[] = []
  const findings: Finding[] = []
  for (const node of nodes) {
    findings.push(...findingsOf(await factsOf(node, wallNow, unchecked)))
  }
  if (findings.some(({ id }) => REFUSES_ALL.has(id))) {
    return { findings, unchecked }
  }
  const opened = await connection.locks().catch((reason: unknown) => reason as Error)
  findings.push(...(await checkRights(redis, opened, connection.timeoutMs)))
  if (opened instanceof LockClient) {
    findings.push(...(await locksOf(opened, { nodes, keyPrefix: connection.keyPrefix }, unchecked)))
  }
  return { findings, unchecked }
}

async function locksOf(locks: LockClient, keys: LockKeys, unchecked: Unchecked[]): Promise<Finding[]> {
  try {
    return await checkLocks(locks, keys, unchecked)
  } catch (reason) {
    unchecked.push({ what: 'locks', why: (reason as Error).message })
    return []
  }
}

function print({ findings, unchecked }: Diagnosis, { described }: Connection, output: Output): void {
  for (const { id, level, found, remedy } of findings) {
    const style = level === 'error' ? 'red' : 'yellow'
    output.line(`${output.style(style, level)} ${output.style('bold', id)}  ${printable(found)}`)
    output.line(`  ${remedy}`)
  }
  for (const { what, why } of unchecked) {
    output.note(`not checked: ${what} (${why})`, {})
  }
  if (findings.length === 0) {
    output.note(`nothing was found at ${described}`, {})
  }
}
