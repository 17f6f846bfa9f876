import { describe, expect, it } from '@jest/globals'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nextEvent, outcomeOf } from '../support/outcomes.js'
import { useRig } from '../support/rig.js'

const NAME = 'order:42'

describe('Redis crashes in the middle of writing an acquisition to its log', () => {
  const rig = useRig({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })

  /** The file that Redis appends to. */
  const logFile = async (): Promise<string> => {
    const [, folder] = (await rig.server.command('CONFIG', 'GET', 'dir')) as [string, string]
    const files = await readdir(folder, { recursive: true })
    return join(
      folder,
      files.find((file) => /\.aof$/.test(file) && !file.endsWith('.base.aof'))!,
    )
  }

  it('what it finds afterwards is a lock with a time to live, or none (I6)', async () => {
    const locks = await rig.client()
    const log = await logFile()
    const before = (await readFile(log)).length
    const hold = await locks.getLock(NAME).acquire()
    const lost = nextEvent(locks, 'lost')
    await rig.server.kill()
    const whole = await readFile(log)
    const written = whole.length - before
    expect(written).toBeGreaterThan(100)

    const found: (number | 'none')[] = []
    for (let eighth = 0; eighth <= 8; eighth += 1) {
      await writeFile(log, whole.subarray(0, before + Math.floor((written * eighth) / 8)))
      await rig.server.restart()
      const ttlMs = Number(await rig.server.command('PTTL', NAME))
      expect(ttlMs).not.toBe(-1)
      found.push(ttlMs === -2 ? 'none' : ttlMs)
      if (eighth === 0) await lost
      if (eighth < 8) await rig.server.kill()
    }
    expect(found.slice(0, 8)).toEqual(Array(8).fill('none'))
    expect(found[8]).toBeGreaterThan(20_000)
    // Told when it was not there, its holder leaves it alone.
    expect(await outcomeOf(hold.release())).toBe('lost')
    await rig.admin.del(NAME)
  })
})
