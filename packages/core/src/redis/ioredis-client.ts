/**
 * What is used of an ioredis client, 5 or 6: structural, so that types resolve without ioredis installed, and so
 * that two copies of it may be.
 */
export interface IoredisClient {
  readonly status: string
  readonly isCluster?: boolean
  readonly options: { readonly keyPrefix?: string | undefined }
  connect(): Promise<unknown>
  disconnect(reconnect?: boolean): void
  quit(): Promise<unknown>
  duplicate(override?: object): IoredisClient
  evalsha(...args: (string | number)[]): Promise<unknown>
  eval(...args: (string | number)[]): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  on(event: string, listener: (...args: never[]) => void): unknown
  off(event: string, listener: (...args: never[]) => void): unknown
  sendCommand(command: never): unknown
}

export function isIoredisClient(value: unknown): value is IoredisClient {
  const client = value as Partial<IoredisClient> | null
  return (
    typeof client === 'object' &&
    client !== null &&
    typeof client.evalsha === 'function' &&
    typeof client.duplicate === 'function' &&
    typeof client.sendCommand === 'function' &&
    typeof client.status === 'string'
  )
}
