/** What is told of an error to those who waited for the run that threw it. */
export interface ErrorDetails {
  readonly name: string
  readonly message: string
  /** Its `code`, if that is a text or a number. */
  readonly code: string | number | undefined
}

const LONGEST_TEXT = 2_000

/** What others are told of an error: not its stack, nor its other properties. */
export function detailsOf(error: unknown): ErrorDetails {
  const { name, message, code } = (error ?? {}) as Record<string, unknown>
  return {
    name: typeof name === 'string' ? name.slice(0, LONGEST_TEXT) : 'Error',
    message: (typeof message === 'string' ? message : String(error)).slice(0, LONGEST_TEXT),
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
  }
}

/** As another process wrote them. */
export function detailsIn(text: string): ErrorDetails {
  return detailsOf(JSON.parse(text))
}
