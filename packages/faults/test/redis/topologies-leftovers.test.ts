import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'

const LIMIT_MS = 90_000

// In a process of its own, which has a temporary folder to itself and ends only when it has nothing open.
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-topologies-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs `source`, which may use `pidsIn(logFile)` and `left(pids)`, and gives what it prints as JSON. */
const run = async (source: string): Promise<unknown> => {
  const code = `
    import { readFileSync, readdirSync } from 'node:fs'
    import { RedisCluster, RedisReplication, RedisSentinels } from '@holdfast/faults/harness'
    const folder = ${JSON.stringify(folder)}
    const isAlive = (pid) => { try { return process.kill(pid, 0) } catch { return false } }
    const pidsIn = (log) => [...new Set(readFileSync(log, 'utf8').match(/^\\d+(?=:)/gm))].map(Number)
    const left = (pids) => ({
      alive: pids.filter(isAlive),
      folders: readdirSync(folder).filter((name) => name.startsWith('holdfast-')),
    })
    ${source}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    env: { ...process.env, TMPDIR: folder },
    timeout: LIMIT_MS,
  })
  return JSON.parse(stdout)
}

describe('what topologies leave behind', () => {
  test('nothing, however often they are stopped', async () => {
    const report = await run(`
      const topologies = await Promise.all([
        RedisReplication.start(), RedisSentinels.start(), RedisCluster.start({ replicasPerPrimary: 0 }),
      ])
      const servers = topologies.flatMap(({ nodes, sentinels = [] }) => [...nodes, ...sentinels])
      const pids = servers.map(({ pid }) => pid)
      const before = left(pids)
      await servers[0].kill()
      await servers[2].pause()
      topologies[0].cutReplication()
      await Promise.all(topologies.map((each) => each.stop()))
      for (const each of topologies) await each.stop()
      const after = left(pids)
      console.log(JSON.stringify({ started: [before.alive.length, before.folders.length], after }))`)
    const servers = 2 + (3 + 3) + 3
    expect(report).toEqual({ started: [servers, servers], after: { alive: [], folders: [] } })
  })

  test.each([
    ['RedisReplication', 2, "'--rename-command', 'REPLICAOF', ''", 'unknown command'],
    ['RedisSentinels', 3, "'--rename-command', 'REPLICAOF', ''", 'unknown command'],
    ['RedisCluster', 6, "'--cluster-enabled', 'no'", 'cluster support disabled'],
  ])('nothing, when %s starts its servers and fails then', async (name, servers, args, reason) => {
    const report = await run(`
      const log = folder + '/log'
      const error = await ${name}.start({ args: ['--logfile', log, ${args}] }).catch((error) => error)
      const pids = pidsIn(log)
      console.log(JSON.stringify({ reason: error.message, started: pids.length, ...left(pids) }))`)
    expect(report).toEqual({
      reason: expect.stringContaining(reason),
      started: servers,
      alive: [],
      folders: [],
    })
  })
})
