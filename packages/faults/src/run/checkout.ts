import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

/** The output of git in this checkout. Rejects where there is no git, or no history. */
export const git = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('git', ['-C', ROOT, ...args])).stdout.trim()
