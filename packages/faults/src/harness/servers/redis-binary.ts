import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A Redis or Valkey server program. */
export interface RedisBinary {
  readonly path: string
  /** First number of its version. Valkey counts on from Redis 7.2. */
  readonly major: number
}

const probe = async (path: string): Promise<RedisBinary> => {
  const { stdout } = await run(path, ['--version'])
  const major = /\bv=(\d+)\./.exec(stdout)?.[1]
  if (major === undefined) throw new Error(`${path} --version says no Redis version: ${stdout.trim()}`)
  return { path, major: Number(major) }
}

/**
 * The server to launch: `binary` when given, else the program that HOLDFAST_REDIS_SERVER names, else redis-server or
 * valkey-server from the PATH.
 */
export const findRedisBinary = async (
  binary: string | undefined = process.env.HOLDFAST_REDIS_SERVER || undefined,
): Promise<RedisBinary> => {
  if (binary !== undefined) return probe(binary)
  for (const name of ['redis-server', 'valkey-server']) {
    try {
      return await probe(name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  throw new Error('neither redis-server nor valkey-server is on the PATH')
}
