import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { whenWeAreGone } from './guardian.mjs'
import { ping } from './ping.mjs'
import { works } from './run.mjs'

const START_LIMIT_MS = 10_000
const PORT_ATTEMPTS = 10

const CLEAN_UP = 'kill -9 "$1" 2>/dev/null; rm -rf "$2"'

/**
 * A private server of the redis-server or valkey-server that is on the PATH.
 *
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>}
 */
export const fromPath = async () => {
  const program = await serverOnPath()
  return program && launch(program, `${program} from the PATH`)
}

/**
 * A private server of the program that HOLDFAST_REDIS_SERVER names.
 *
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>} undefined where it names none
 */
export const fromNamedProgram = async () => {
  const program = await namedProgram()
  return program && launch(program, program)
}

/** @returns {Promise<string | undefined>} the program that HOLDFAST_REDIS_SERVER names @throws when it does not run */
const namedProgram = async () => {
  const program = process.env.HOLDFAST_REDIS_SERVER
  if (!program) return undefined
  if (await works(program, ['--version'])) return program
  throw new Error(`HOLDFAST_REDIS_SERVER names '${program}', which does not run`)
}

/** @returns {Promise<string | undefined>} what starts servers: the program of HOLDFAST_REDIS_SERVER, or one of the PATH */
export const serverProgram = async () => (await namedProgram()) ?? (await serverOnPath())

/** @returns {Promise<string | undefined>} `redis-server` or `valkey-server` */
const serverOnPath = async () => {
  for (const program of ['redis-server', 'valkey-server']) {
    if (await works(program, ['--version'])) return program
  }
  return undefined
}

/** @param {string} program @param {string} how where it comes from, for people */
const launch = async (program, how) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-redis-'))
  try {
    for (let attempt = 1; ; attempt += 1) {
      // Below the ephemeral ports, where a client's outgoing connection could sit on the same number.
      const port = randomInt(20_000, 32_000)
      const server = spawnServer(program, port, folder)
      if (await answers(server, port)) return provided(`${how}, port ${port}`, port, server)
      await server.stop()
      const portTaken = /address already in use/i.test(server.output())
      if (!portTaken || attempt === PORT_ATTEMPTS) {
        throw new Error(`${how} does not start:\n${server.output()}`)
      }
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

const provided = (how, port, { stop }) => ({ url: `redis://127.0.0.1:${port}`, how, stop })

const spawnServer = (program, port, folder) => {
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder]
  // In a group of its own, so that Ctrl-C ends the tests first and the server after them.
  const child = spawn(program, [...place, '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output = (output + String(chunk)).slice(-16_384)))
  }
  let running = true
  const ended = new Promise((resolve) => child.once('close', resolve)).then(() => (running = false))
  const callOff = whenWeAreGone(CLEAN_UP, [String(child.pid), folder])
  const stop = async () => {
    child.kill('SIGTERM')
    const killer = setTimeout(() => child.kill('SIGKILL'), 5_000)
    await ended
    clearTimeout(killer)
    callOff()
    await rm(folder, { recursive: true, force: true })
  }
  return { stop, running: () => running, output: () => output }
}

const answers = async (server, port) => {
  const deadlineMs = performance.now() + START_LIMIT_MS
  while (server.running() && performance.now() < deadlineMs) {
    // Its own word first: on a port that was taken, somebody else would answer.
    if (/ready to accept connections/i.test(server.output())) {
      return ping(`redis://127.0.0.1:${port}`).then(
        () => true,
        () => false,
      )
    }
    await sleep(10)
  }
  return false
}
