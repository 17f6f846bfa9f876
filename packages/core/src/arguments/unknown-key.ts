import { formatValue } from '../runtime/format-value.js'
import { InvalidArgumentError } from '../errors.js'

/** All keys of `O`: the type makes a forgotten key a compile error. */
export type KnownKeys<O> = Readonly<Record<keyof O, true>>

/** An unknown key is most likely a misspelt known one. */
export function unknownKey(
  argument: string,
  options: object,
  key: string,
  known: readonly string[],
): InvalidArgumentError {
  const nearest = nearestOf(key, known)
  const hint = nearest === undefined ? `known: ${known.join(', ')}` : `did you mean ${nearest}?`
  const message = `Unknown option ${formatValue(key)} in ${argument} (${hint}); got ${formatValue(options)}.`
  return new InvalidArgumentError(argument, options, 'without unknown options', message)
}

const MOST_EDITS = 2

function nearestOf(key: string, known: readonly string[]): string | undefined {
  let least = MOST_EDITS + 1
  let nearest: string | undefined = undefined
  for (const each of known) {
    if (Math.abs(each.length - key.length) <= MOST_EDITS) {
      const edits = editsBetween(key.toLowerCase(), each.toLowerCase())
      nearest = edits < least ? each : nearest
      least = Math.min(edits, least)
    }
  }
  return nearest
}

/** Levenshtein distance, row by row. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [index, letter] of Array.from(from).entries()) {
    let left = index + 1
    const next = row.slice(1).map((above, column) => {
      const replaced = (row[column] as number) + (letter === to[column] ? 0 : 1)
      return (left = Math.min(above + 1, left + 1, replaced))
    })
    row = [index + 1, ...next]
  }
  return row.at(-1) as number
}
