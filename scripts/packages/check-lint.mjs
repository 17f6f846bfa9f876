import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { command } from './command.mjs'

const require = createRequire(import.meta.url)

/** @param {string} file a tarball */
export const lintManifest = async (file) => {
  const bytes = await readFile(file)
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true })
  if (messages.length > 0) {
    throw new Error(messages.map((each) => formatMessage(each, pkg, { color: false })).join('\n'))
  }
}

/**
 * @param {string} file a tarball
 * @param {AbortSignal} signal
 */
export const lintTypes = async (file, signal) => {
  const manifest = require.resolve('@arethetypeswrong/cli/package.json')
  const bin = join(dirname(manifest), require(manifest).bin.attw)
  const args = [bin, file, '--profile', 'strict', '--no-emoji', '--no-color', '--format', 'ascii']
  await command(process.execPath, args, { cwd: dirname(file), signal })
}
