import { LockClient } from '@holdfast/core'
import { connect, optionsFor } from './connection.mjs'
import { rawCommands } from './contestants/raw.mjs'

const asText = (commands) => JSON.stringify(commands.map((args) => args.map(String)))

/**
 * Holds what the raw contestant sends against what Holdfast sends for the same lock: a ratio of the two says
 * nothing about a library that has come to send something else.
 *
 * @param {string} url
 * @param {string} runId
 */
export const assertSameCommands = async (url, runId) => {
  const redis = await connect(optionsFor(url, false))
  const locks = await LockClient.connect(redis)
  try {
    const name = `bench:${runId}:same-commands`
    const lock = locks.getLock(name)
    await (await lock.lock()).release() // loads the scripts
    const sent = []
    const sendCommand = redis.sendCommand.bind(redis)
    redis.sendCommand = (command) => {
      if (command.name === 'evalsha') sent.push(command.args)
      return sendCommand(command)
    }
    const hold = await lock.lock()
    const { owner } = hold
    await hold.release()
    const { acquire, release } = rawCommands(name)
    const expected = [acquire(owner), release(owner)]
    if (asText(sent) !== asText(expected)) {
      throw new Error(
        `The raw contestant no longer sends what Holdfast sends: mend rawCommands.\n` +
          `Holdfast: ${asText(sent)}\nraw:      ${asText(expected)}`,
      )
    }
  } finally {
    await locks.close()
    await redis.quit()
  }
}
