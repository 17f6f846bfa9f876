const CRLF = '\r\n'

/**
 * The whole commands at the start of what a client sent, for a `Matcher` that has to know more than whether some
 * bytes occur.
 */
export const commandsIn = (bytes: Buffer): string[][] => {
  const commands: string[][] = []
  let at = 0
  const numberOfLine = (): number => {
    const end = bytes.indexOf(CRLF, at)
    const number = end < 0 ? NaN : Number(bytes.toString('utf8', at + 1, end))
    at = end < 0 ? bytes.length : end + CRLF.length
    return number
  }
  while (at < bytes.length) {
    const parts = numberOfLine()
    const command: string[] = []
    while (command.length < parts && at < bytes.length) {
      const length = numberOfLine()
      command.push(bytes.toString('utf8', at, at + length))
      at += length + CRLF.length
    }
    if (command.length === parts && at <= bytes.length) commands.push(command)
  }
  return commands
}
