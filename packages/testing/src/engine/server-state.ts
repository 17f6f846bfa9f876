/** What a server is like, apart from its data. Tests set it. */
export interface ServerState {
  /** Changes when the server starts anew. */
  runId: string
  /** It reads its data still: nearly everything is refused. */
  isLoading: boolean
  /** It refuses writes. */
  isReplica: boolean
  /** Commands that may need memory are refused. */
  isOutOfMemory: boolean
}
