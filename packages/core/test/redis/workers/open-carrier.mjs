import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** The carrier of a worker's LockClient: the client that the Jest project of its test is for. */
export async function openCarrier(url) {
  const name = process.env.HOLDFAST_TEST_CARRIER
  if (name.startsWith('io')) {
    const { Redis } = require(name)
    const client = new Redis(url)
    return { client, end: () => client.disconnect() }
  }
  const client = require(name).createClient({ url })
  client.on('error', () => undefined)
  await client.connect()
  return { client, end: () => client.destroy() }
}
