import { HistoryError, type HistoryEvent, type Token } from './events.js'

/** Tokens compare as integers of any size: as strings, '10' would come before '9'. */
export const tokenValue = (token: Token, event: HistoryEvent): bigint => {
  try {
    return BigInt(token)
  } catch (cause) {
    throw new HistoryError('The token is not an integer', event, { cause })
  }
}
