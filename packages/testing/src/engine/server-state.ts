/** Memory of a server with a few keys. The keys' own is not counted: below it there is no memory, above it enough. */
const USED_MEMORY = 800_000

/** Whether commands that may need memory are refused. */
export function isOutOfMemory({ maxMemory, isReplica }: ServerState): boolean {
  // A replica has what its primary had memory for.
  return maxMemory > 0 && maxMemory < USED_MEMORY && !isReplica
}

/** The state of a server, apart from its data. Tests set it. */
export interface ServerState {
  /** Changes when the server starts anew. */
  runId: string
  /** It reads its data still: nearly everything is refused. */
  isLoading: boolean
  /** It refuses writes. */
  isReplica: boolean
  /** CONFIG's `maxmemory`, in bytes; 0: no limit. */
  maxMemory: number
  /** CONFIG's `maxmemory-policy`. It is told, and nothing is evicted. */
  maxMemoryPolicy: string
}
