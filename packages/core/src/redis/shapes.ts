// The shapes of script replies. Each script declares its own, and `ScriptCommand` checks every reply before it is
// parsed: on a shared connection the reply may be something else, such as the QUEUED of a transaction.

/** Whether a script can give this reply. Runs for every reply, so shapes are created once, when a module loads. */
export type Shape = (reply: unknown) => boolean

const DECIMAL = /^-?\d+$/

/** Clients may be configured to return numbers as text, and scripts return stored values as text. */
function isWhole(reply: unknown): reply is number | string {
  return typeof reply === 'number'
    ? Number.isInteger(reply)
    : typeof reply === 'string' && DECIMAL.test(reply)
}

export function isScalar(reply: unknown): reply is number | string {
  return typeof reply === 'string' || typeof reply === 'number'
}

function isText(reply: unknown): reply is string {
  return typeof reply === 'string'
}

export function isList(reply: unknown): reply is readonly unknown[] {
  return Array.isArray(reply)
}

/** The pairs of a list that alternates between two things, as Redis returns a hash. */
export function pairsIn<T = unknown>(list: readonly T[]): (readonly [T, T])[] {
  return Array.from({ length: list.length >> 1 }, (_, i) => [list[2 * i] as T, list[2 * i + 1] as T] as const)
}

/** A whole number from `least` to `most`. */
export function numberFrom(least: number, most = Number.POSITIVE_INFINITY): Shape {
  return (reply) => {
    if (!isWhole(reply)) {
      return false
    }
    const number = Number(reply)
    return number >= least && number <= most
  }
}

/** Any whole number. */
export const anyNumber: Shape = isWhole

/** A list of at least this many whole numbers; the first has the given shape. */
export function numbers(least: number, first: Shape = anyNumber): Shape {
  return (reply) =>
    isList(reply) && reply.length >= least && (reply.length === 0 || first(reply[0])) && reply.every(isWhole)
}

/** A list of at least this many numbers and texts; the first is a number. */
export function facts(least: number): Shape {
  return (reply) => isList(reply) && reply.length >= least && isWhole(reply[0]) && reply.every(isScalar)
}

/** A list of texts. */
export const texts: Shape = (reply) => isList(reply) && reply.every(isText)

/** A non-negative decimal number, such as a token. */
export const isToken: Shape = (reply) => isWhole(reply) && Number(reply) >= 0

/** A list of at least these parts, each of its shape; further parts are text or numbers. */
export function parts(...shapes: readonly Shape[]): Shape {
  return (reply) =>
    isList(reply) && reply.length >= shapes.length && reply.every((part, i) => (shapes[i] ?? isScalar)(part))
}

export function either(one: Shape, other: Shape): Shape {
  return (reply) => one(reply) || other(reply)
}

/** 1 acquired, 2 lost, 3 superseded, or a list that describes the holder. */
export function acquiredOrHeld(leastFacts: number): Shape {
  return either(numberFrom(1, 3), facts(leastFacts))
}

/** 1 released, 2 still held, 3 superseded, 0 not held; negative: granted to a waiter, for that many ms. */
export const releasedOrGiven = numberFrom(Number.NEGATIVE_INFINITY, 3)

/** 1 done, 0 nothing to do, -1 over. */
export const countedOnce = numberFrom(-1, 1)

/** 1 or 0. */
export const yesOrNo = numberFrom(0, 1)

export const count = numberFrom(0)
