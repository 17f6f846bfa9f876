/** A line such as OK, which Redis tells apart from a text. */
export class Status {
  constructor(readonly text: string) {}
}

/** An error of Redis: its text begins with the code. Commands throw it; whoever asks gets it as the reply. */
export class ErrorReply extends Error {
  constructor(message: string) {
    // It is one line.
    super(message.replace(/[\r\n]+$/, '').replace(/[\r\n]/g, ' '))
    this.name = 'ReplyError'
  }
}

/** The answer of a command. Texts have a character for each byte. */
export type Reply = string | number | bigint | null | Status | ErrorReply | readonly Reply[]

/** The reply of a command, or the error that it throws. */
export function replyOf(command: () => Reply): Reply {
  try {
    return command()
  } catch (error) {
    if (error instanceof ErrorReply) {
      return error
    }
    throw error
  }
}

export const OK = new Status('OK')

export const wrongType = (): ErrorReply =>
  new ErrorReply('WRONGTYPE Operation against a key holding the wrong kind of value')
export const syntaxError = (): ErrorReply => new ErrorReply('ERR syntax error')
export const notInteger = (): ErrorReply => new ErrorReply('ERR value is not an integer or out of range')
export const notFloat = (): ErrorReply => new ErrorReply('ERR value is not a valid float')
export const wrongCount = (name: string): ErrorReply =>
  new ErrorReply(`ERR wrong number of arguments for '${name}' command`)
