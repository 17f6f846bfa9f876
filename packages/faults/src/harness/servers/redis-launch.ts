import { spawn } from 'node:child_process'
import { appendFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisBinary } from './redis-binary.js'
import { roundTrip } from '../network/round-trip.js'
import { SupervisedProcess } from '../processes/supervised-process.js'

/** All that is needed to start the same server once more. */
export interface RedisLaunch {
  readonly binary: RedisBinary
  readonly folder: string
  readonly port: number
  readonly args: readonly string[]
  readonly sentinel: boolean
}

const HOST = '127.0.0.1'
const START_LIMIT_MS = 10_000

const sentinelFile = ({ folder }: RedisLaunch): string => join(folder, 'sentinel.conf')

const commandLine = (launch: RedisLaunch): string[] => {
  const { folder, port, args } = launch
  const place = ['--bind', HOST, '--port', String(port), '--dir', folder]
  // The file has to come first.
  return launch.sentinel
    ? [sentinelFile(launch), ...place, ...args, '--sentinel']
    : [...place, ...dataServer(launch), ...args]
}

const dataServer = ({ binary, args }: RedisLaunch): string[] => [
  // Repeated save points add up, so ours would not give way to those in `args`.
  ...(args.includes('--save') ? [] : ['--save', '']),
  ...(args.includes('--appendonly') ? [] : ['--appendonly', 'no']),
  // Since version 7 DEBUG is refused unless the server was started with leave to use it.
  ...(binary.major >= 7 ? ['--enable-debug-command', 'yes'] : []),
]

/** Starts the server and resolves when it answers PING; rejects with the server's own output. */
export const launchRedis = async (launch: RedisLaunch): Promise<SupervisedProcess> => {
  await mkdir(launch.folder, { recursive: true })
  // A sentinel keeps its state there and starts only when it can; after a restart it finds what it wrote.
  if (launch.sentinel) await appendFile(sentinelFile(launch), '')
  const child = spawn(launch.binary.path, commandLine(launch), {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // In a group of its own: Ctrl-C ends what uses the server first, and the server after that.
  })
  const server = new SupervisedProcess(child, launch.folder)
  // A server that a failed test forgot to stop must not keep the process alive; the guardian ends it.
  server.unref()
  try {
    await answering(server, launch.port)
  } catch (error) {
    await server.kill()
    const reason = error instanceof Error ? error.message : String(error)
    const what = `${launch.binary.path} did not start on port ${launch.port}: ${reason}\n${server.output}`
    throw new Error(what, { cause: error })
  }
  return server
}

const answering = async (server: SupervisedProcess, port: number): Promise<void> => {
  const deadlineMs = performance.now() + START_LIMIT_MS
  while (!(await answers(port, server.pid))) {
    if (!server.running) throw new Error('it ended at once')
    if (performance.now() > deadlineMs) throw new Error(`no answer to PING within ${START_LIMIT_MS} ms`)
    await sleep(5)
  }
}

const answers = async (port: number, pid: number): Promise<boolean> => {
  const target = { host: HOST, port }
  try {
    if ((await roundTrip(target, ['PING'], 1_000)) !== 'PONG') return false
    // When the port was taken, the other server answers until ours has given up.
    const info = String(await roundTrip(target, ['INFO', 'server'], 1_000))
    return Number(/^process_id:(\d+)/m.exec(info)?.[1]) === pid
  } catch {
    return false // Not listening yet, or still loading its data.
  }
}
