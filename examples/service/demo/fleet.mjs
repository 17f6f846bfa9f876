import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SERVER = fileURLToPath(new URL('../src/server.mjs', import.meta.url))
const LONGEST_STOP_MS = 10_000

/** Processes of the service, and what they log. */
export class Fleet {
  /** Those that run, by name: `{ name, port, child, exited, url }`. */
  processes = new Map()
  /** Entries of all processes, those that have ended included. */
  log = []
  #env

  constructor(env) {
    this.#env = { ...process.env, ...env }
  }

  get urls() {
    return [...this.processes.values()].map(({ url }) => url)
  }

  /** Resolves when it listens. */
  async start(name, port) {
    const env = { ...this.#env, PORT: String(port) }
    const child = spawn(process.execPath, [SERVER], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    // Whatever ends this process, none is left behind.
    process.once('exit', () => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    const started = { name, port, child, exited }
    this.processes.set(name, started)
    const listening = new Promise((resolve) => {
      createInterface(child.stdout).on('line', (line) => {
        // The last line of a killed process may be a part of one.
        if (!/^\{.*\}$/.test(line)) return
        const entry = JSON.parse(line)
        this.log.push(entry)
        const [, at] = /^Server listening at http:.*:(\d+)$/.exec(entry.msg) ?? []
        if (at) resolve(`http://127.0.0.1:${at}`)
      })
    })
    const died = exited.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)))
    started.url = await Promise.race([listening, died])
    return started.url
  }

  /** Ends like `kill -9`: the process can do nothing about it. */
  async kill(pid) {
    const killed = [...this.processes.values()].find(({ child }) => child.pid === pid)
    killed.child.kill('SIGKILL')
    await killed.exited
    this.processes.delete(killed.name)
    return killed
  }

  /** Resolves with the exit codes of all that ran. */
  async stop(signal = 'SIGTERM') {
    const ended = [...this.processes.values()]
    this.processes.clear()
    for (const { child } of ended) {
      child.kill(signal)
      setTimeout(() => child.kill('SIGKILL'), LONGEST_STOP_MS).unref()
    }
    return Promise.all(ended.map(async ({ exited }) => (await exited)[0]))
  }
}
