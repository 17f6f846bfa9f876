/** A request, whichever way it came. */
export interface BoardRequest {
  readonly method: string
  /** The path that the browser sent, with the base path. */
  readonly path: string
  readonly query: URLSearchParams
  /** @param name in lower case */
  header(name: string): string | undefined
  /** The framework's request, for `authorize`. */
  readonly original: unknown
}

/** Where a reply without an end is written to. */
export interface Sink {
  write(text: string): void
  /** Whether its reader is so far behind that nothing more should be written now. */
  isFull(): boolean
  end(): void
}

export interface BoardReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A function begins to write, and returns what ends it: called once, when the reader has gone. */
  readonly body: string | Uint8Array | ((sink: Sink) => () => void)
}

/** Bytes that are kept for a reader that is slow. */
export const MOST_BUFFERED = 4_000_000
