import { flowOf } from './opened.mjs'

/** Ends of what is held, by lock. */
const ends = new Map()

/** Nanoseconds that all processes of a machine count alike. */
export const now = () => Number(process.hrtime.bigint())

/** Resolves when it has the lock, and keeps it until `letGo`. */
export const hold = ({ variant, name }) =>
  new Promise((resolve, reject) => {
    const held = new Promise((end) => ends.set(name, { end }))
    const pair = flowOf({ variant, name })(async () => {
      resolve(undefined)
      await held
    })
    ends.get(name).over = pair
    pair.catch(reject)
  })

/** @returns when the unlock began, ns */
export const letGo = async ({ name }) => {
  const { end, over } = ends.get(name)
  ends.delete(name)
  const from = now()
  end()
  await over
  return from
}

/** Waits for the lock. @returns when it had it, ns; null: it gave up */
export const waitFor = async ({ variant, name }) => {
  let at = null
  await flowOf({ variant, name })(async () => {
    at = now()
  }).catch(() => undefined)
  return at
}
