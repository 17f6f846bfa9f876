import { getShare } from '@holdfast/core/share'

const LONGEST_MS = 10_000

/** Makes the client of the bank and the carrier. One process asks for their access token, and the whole fleet uses it. */
export const createPartners = ({ locks, url }) => {
  // Redis keeps the token as it is. The option `codec` seals it.
  const tokens = getShare(locks, 'partners', {
    keepMs: (token) => token.expires_in * 1_000 - 5_000,
    waitMs: LONGEST_MS,
  })

  const post = async (path, { signal, headers, body = {} }) => {
    const response = await fetch(new URL(path, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': `shop/${process.pid}`, ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]),
    })
    // The token was revoked: the next call fetches another one.
    if (response.status === 401) await tokens.invalidate('access')
    if (!response.ok) throw badGateway(`${path} answered ${response.status}`)
    return response.json()
  }

  // A lock cannot stop a request that is on its way when its process dies. The partner knows the second one by its key.
  const once = async (path, key, body, signal) => {
    const { access_token } = await tokens.run('access', (run) => post('/token', { signal: run.signal }))
    const headers = { authorization: `Bearer ${access_token}`, 'idempotency-key': key }
    const { id } = await post(path, { signal, headers, body })
    return id
  }

  return {
    charge: ({ id, amount }, signal) => once('/charges', id, { amount }, signal),
    send: ({ id, warehouse }, signal) => once('/parcels', id, { warehouse }, signal),
  }
}

const badGateway = (message) => Object.assign(new Error(message), { statusCode: 502 })
