/** An error of a run, as those who waited for it are told. */
export interface ErrorDetails {
  readonly name: string
  readonly message: string
  /** Its `code`, if that is a text or a number. */
  readonly code: string | number | undefined
}

const LONGEST_TEXT = 2_000

/** The part of an error that others are told: not its stack, nor its other properties. */
export function detailsOf(error: unknown): ErrorDetails {
  const { name, message, code } = (error ?? {}) as Record<string, unknown>
  return {
    name: typeof name === 'string' ? name.slice(0, LONGEST_TEXT) : 'Error',
    message: (typeof message === 'string' ? message : String(error)).slice(0, LONGEST_TEXT),
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
  }
}

/** The details as another process wrote them. */
export function detailsIn(text: string): ErrorDetails {
  return detailsOf(JSON.parse(text))
}
