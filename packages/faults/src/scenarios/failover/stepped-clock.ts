import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RedisServer } from '@holdfast/faults/harness'

const PROBE_MS = 5_000
const output = async (program: string, args: readonly string[], timeout = 0): Promise<string> => {
  const { stdout } = await promisify(execFile)(program, args, { timeout, killSignal: 'SIGKILL' })
  return stdout
}

/** A Redis whose wall clock can be set, and whose monotonic one goes on. */
export interface SteppedServer {
  readonly server: RedisServer
  /** @param seconds of the clock against the true time; negative: back */
  readonly step: (seconds: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** @returns undefined where the program `faketime` is not installed */
export const startSteppedServer = async (): Promise<SteppedServer | undefined> => {
  // The program knows where its library is.
  const library = await output('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD']).catch(() => undefined)
  if (library === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-clock-'))
  const [binary, offset] = [join(folder, 'redis-server'), join(folder, 'offset')]
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    await writeFile(offset, '+0\n')
    const settings = {
      // Its own start reads the clock in the midst of an allocation, and jemalloc's first one reads the clock: with
      // the C library in front of jemalloc they do not wait for each other.
      LD_PRELOAD: `${library.trim()} libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DISABLE_SHM: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
    const exports = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'\n`)
    await writeFile(binary, `#!/bin/sh\n${exports.join('')}exec redis-server "$@"\n`)
    await chmod(binary, 0o755)
    // Where the two still do not go together, the server hangs.
    await output(binary, ['--version'], PROBE_MS)
    const server = await RedisServer.start({ binary })
    return {
      server,
      step: (seconds) => writeFile(offset, `${seconds < 0 ? '' : '+'}${seconds}\n`),
      stop: async () => {
        await server.stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}
