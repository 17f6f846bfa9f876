import { fromBytes, toBytes } from '../engine.js'

/** The words of one request, as a server reads them: by their lengths in bytes. @throws Error it is none */
export const wordsOf = (request: string | Buffer): string[] => {
  const bytes = toBytes(request)
  const words: string[] = []
  let at = bytes.indexOf('\r\n') + 2
  const count = lengthAt(bytes, '*', { from: 0, to: at - 2 })
  while (at < bytes.length) {
    const begin = bytes.indexOf('\r\n', at) + 2
    const end = begin + lengthAt(bytes, '$', { from: at, to: begin - 2 })
    if (bytes.slice(end, end + 2) !== '\r\n') throw new Error(`A word of another length: ${bytes}`)
    words.push(fromBytes(bytes.slice(begin, end)))
    at = end + 2
  }
  if (words.length !== count) throw new Error(`A request of another length: ${bytes}`)
  return words
}

const lengthAt = (
  bytes: string,
  mark: string,
  { from, to }: { readonly from: number; readonly to: number },
): number => {
  const length = bytes[from] === mark && to > from ? Number(bytes.slice(from + 1, to)) : NaN
  if (!Number.isInteger(length)) throw new Error(`No length at ${from}: ${bytes}`)
  return length
}
