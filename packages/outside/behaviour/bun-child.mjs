// Bun's client, which only Bun has: does what each line of its input asks for, and answers with a line.
import { inspect, RedisClient } from 'bun'
import { createInterface } from 'node:readline'

const clients = new Map()
// JSON has no large integers.
const written = (_, value) => (typeof value === 'bigint' ? { integer: String(value) } : value)
const inform = (answer) => process.stdout.write(`${JSON.stringify(answer, written)}\n`)
const does = {
  create: (id, port) => void clients.set(id, new RedisClient(`redis://127.0.0.1:${port}`)),
  connect: async (id) => {
    const client = clients.get(id)
    await client.connect()
    return Boolean(client[Symbol.dispose] ?? client[Symbol.asyncDispose])
  },
  send: (id, command, ...args) => clients.get(id).send(command, args),
  incr: (id, key) => clients.get(id).incr(key),
  subscribe: async (id) => void (await clients.get(id).subscribe('c', () => undefined)),
  close: (id) => clients.get(id).close(),
}

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit())
lines.on('line', async (line) => {
  const { number, name, args } = JSON.parse(line)
  try {
    inform({ number, value: await does[name](...args) })
  } catch (error) {
    const { message, code } = error
    const shown = `${inspect(error)} ${JSON.stringify(error)}`
    inform({ number, error: { message, code, shown, name: error.name, of: error.constructor.name } })
  }
})
