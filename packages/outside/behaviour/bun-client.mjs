import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { RUNTIMES } from '../../../scripts/runtimes/catalog.mjs'
import { runtimeProgram } from '../../../scripts/runtimes/runtime-program.mjs'

const CHILD = fileURLToPath(new URL('bun-child.mjs', import.meta.url))

/** The error of Bun's client, with its names, and what Bun's `inspect` shows. */
const thrown = ({ message, code, shown, name, of }) => {
  const { [of]: Same } = { [of]: class extends Error {} }
  return Object.assign(new Same(message), { name, code, [inspect.custom]: () => shown })
}

/**
 * Bun's client, in a process of Bun.
 *
 * @returns {Promise<{ path: string, create: (port: number) => object, stop: () => void } | { reason: string }>}
 */
export const startBun = async () => {
  const { path, reason } = await runtimeProgram(RUNTIMES.find(({ name }) => name === 'bun'))
  if (reason) return { reason }
  const child = spawn(path, ['run', CHILD], { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { number, value, error } = JSON.parse(line, (_, each) =>
      each?.integer ? BigInt(each.integer) : each,
    )
    const { resolve, reject } = waiting.get(number)
    waiting.delete(number)
    if (error) reject(thrown(error))
    else resolve(value)
  })
  let number = 0
  const ask = (name, ...args) =>
    new Promise((resolve, reject) => {
      number += 1
      waiting.set(number, { resolve, reject })
      child.stdin.write(`${JSON.stringify({ number, name, args })}\n`)
    })
  const create = (port) => {
    const id = number + 1
    void ask('create', id, port)
    const client = { close: () => ask('close', id), subscribe: () => ask('subscribe', id) }
    client.connect = async () => {
      if (await ask('connect', id)) client[Symbol.dispose] = client.close
    }
    client.send = (...args) => ask('send', id, ...args.map(String))
    client.incr = (key) => ask('incr', id, key)
    return client
  }
  return { path, create, stop: () => child.kill('SIGKILL') }
}
