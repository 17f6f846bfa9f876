// The shapes of the answers of scripts. Each script declares its own, and `ScriptCommand` compares every answer with it
// before anybody reads it: a connection that is shared may answer something else, such as the QUEUED of a transaction.

/** Whether an answer is one that the script can give. Runs for every answer: made once, where a module is loaded. */
export type Shape = (reply: unknown) => boolean

const DECIMAL = /^-?\d+$/

/** A client may be told to give numbers as text, and scripts pass on what Redis keeps as text. */
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

/** At least so many whole numbers, the first of them of that shape. */
export function numbers(least: number, first: Shape = anyNumber): Shape {
  return (reply) =>
    isList(reply) && reply.length >= least && (reply.length === 0 || first(reply[0])) && reply.every(isWhole)
}

/** At least so many numbers and texts, a number first. */
export function facts(least: number): Shape {
  return (reply) => isList(reply) && reply.length >= least && isWhole(reply[0]) && reply.every(isScalar)
}

/** A list of texts. */
export const texts: Shape = (reply) => isList(reply) && reply.every(isText)

/** A decimal number that is not negative, as a token is. */
export const isToken: Shape = (reply) => isWhole(reply) && Number(reply) >= 0

/** A list of so many parts at least, each of its own shape; what comes behind them is text or a number. */
export function parts(...shapes: readonly Shape[]): Shape {
  return (reply) =>
    isList(reply) && reply.length >= shapes.length && reply.every((part, i) => (shapes[i] ?? isScalar)(part))
}

export function either(one: Shape, other: Shape): Shape {
  return (reply) => one(reply) || other(reply)
}

/** 1 acquired, 2 lost, 3 superseded, or who has it and more. */
export function acquiredOrHeld(leastFacts: number): Shape {
  return either(numberFrom(1, 3), facts(leastFacts))
}

/** 1 released, 2 still held, 3 superseded, 0 nothing held; below 0: given to somebody for so many ms. */
export const releasedOrGiven = numberFrom(Number.NEGATIVE_INFINITY, 3)

/** 1 done, 0 there was nothing, -1 over. */
export const countedOnce = numberFrom(-1, 1)

/** 1 or 0. */
export const yesOrNo = numberFrom(0, 1)

export const count = numberFrom(0)
