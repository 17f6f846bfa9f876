import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/testing'
import { installFaketime } from '../redis/from-package-manager.mjs'
import { run, works } from '../redis/run.mjs'

const PROBE_MS = 5_000

const log = (line) => console.error(line)
let installing

/** A Redis whose wall clock can be set, and whose monotonic one goes on; undefined without `faketime`. */
export const startSteppedServer = async () => {
  // Where it cannot be installed, what needs it is not run, and that is said.
  if (!(await works('faketime', ['--version']))) await (installing ??= installFaketime({ log }).catch(log))
  // The program knows where its library is.
  const library = await run('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD']).catch(() => undefined)
  if (library === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-clock-'))
  const [binary, offset] = [join(folder, 'redis-server'), join(folder, 'offset')]
  const remove = () => rm(folder, { recursive: true, force: true })
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
    await run(binary, ['--version'], { limitMs: PROBE_MS })
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
