import { InvalidArgumentError } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'

/** The proof of who came later: a hold of a fenced lock, or a term of an election. A shared run has no token. */
export interface TokenHolder {
  /** A decimal number as text, larger than that of every earlier holder. */
  readonly token: string
  /** The key in Redis that counts the tokens. */
  readonly tokenKey: string
}

/** Which row a fence raises. */
export interface FenceOptions {
  /**
   * The name of the row. Default: the holder's `tokenKey`. Give one of your own where two Redis servers or databases
   * count tokens under one key: their tokens cannot be compared.
   */
  readonly name?: string | undefined
}

const FENCE_OPTIONS: KnownKeys<FenceOptions> = { name: true }

/** The row that a holder fences, and the token it offers. */
export interface Claim {
  readonly name: string
  readonly token: string
  readonly tokenKey: string
}

const MOST_NAME_BYTES = 1_536
const MOST = 2n ** 63n - 1n

/** @throws InvalidArgumentError */
export function claimOf<Options extends FenceOptions>(
  holder: Partial<TokenHolder> | null | undefined,
  options: Options = {} as Options,
  known: KnownKeys<Options> = FENCE_OPTIONS as KnownKeys<Options>,
): Claim {
  checkOptions('options', options, known)
  const { token, tokenKey } = holder ?? {}
  if (typeof token !== 'string' || typeof tokenKey !== 'string') {
    const rule = 'a hold of a lock of getFencedLock(), or a term of an election: other holds have no token'
    throw new InvalidArgumentError('holder', holder, rule)
  }
  if (!/^\d{1,19}$/.test(token) || BigInt(token) > MOST) {
    throw new InvalidArgumentError('holder.token', token, `a whole number of at most ${MOST}`)
  }
  const { name = tokenKey } = options
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw new InvalidArgumentError('options.name', name, 'a non-empty string without NUL')
  }
  if (Buffer.byteLength(name) > MOST_NAME_BYTES) {
    throw new InvalidArgumentError('options.name', name, `at most ${MOST_NAME_BYTES} bytes of UTF-8`)
  }
  return { name, token, tokenKey }
}
