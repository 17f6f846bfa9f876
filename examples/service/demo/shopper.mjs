import { setTimeout as sleep } from 'node:timers/promises'

const WAREHOUSES = ['north', 'south']

const post = async (url, { body, signal } = {}) => {
  const headers = body ? { 'content-type': 'application/json' } : {}
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** Creates an order at one process of the service. */
export const createOrder = async (url, i = 0) => {
  const order = { amount: 10 + i, warehouse: WAREHOUSES[i % WAREHOUSES.length] }
  return (await post(`${url}/orders`, { body: order })).body.id
}

export const pay = (url, id, signal) => post(`${url}/orders/${id}/payment`, { signal })

/** Tries again when it is told to. */
const payPatiently = async (url, id) => {
  for (;;) {
    const answer = await pay(url, id)
    if (![409, 503].includes(answer.status)) return answer
    await sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

/** Creates so many orders and pays each at every process at once. */
export const payEverywhere = async (urls, count) => {
  const ids = await Promise.all(
    Array.from({ length: count }, (_, i) => createOrder(urls[i % urls.length], i)),
  )
  const answers = await Promise.all(ids.flatMap((id) => urls.map((url) => payPatiently(url, id))))
  return { ids, answers }
}

export const stateOf = async (url, id) => (await (await fetch(`${url}/orders/${id}`)).json()).state
