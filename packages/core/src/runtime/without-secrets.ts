const MASKED = '***'

interface Suspect {
  command?: { readonly name?: unknown; readonly args?: unknown }
  readonly cause?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: unknown
}

/** Longer chains of causes are not followed: one may lead back to itself. */
const MOST_CAUSES = 8

/**
 * The same error, without the password that ioredis keeps in it: errors have the command that failed, and Node prints all
 * of an error that nobody catches, with its causes.
 */
export function withoutSecrets(error: unknown, depth = 0): unknown {
  if (typeof error !== 'object' || error === null || depth > MOST_CAUSES) {
    return error
  }
  const { command, cause, lastNodeError, errors } = error as Suspect
  const name = typeof command?.name === 'string' ? command.name.toLowerCase() : ''
  if (Array.isArray(command?.args) && (name === 'auth' || name === 'hello')) {
    const masked = { ...command, args: command.args.map(() => MASKED) }
    Reflect.defineProperty(error, 'command', {
      value: masked,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  for (const inner of [cause, lastNodeError, ...(Array.isArray(errors) ? (errors as unknown[]) : [])]) {
    withoutSecrets(inner, depth + 1)
  }
  return error
}
