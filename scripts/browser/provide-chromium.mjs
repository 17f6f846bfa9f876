import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { canInstallFromDebian, installFromDebian } from '../support/debian.mjs'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/**
 * The browser that tests of the board look with: HOLDFAST_CHROMIUM, or one of the PATH.
 *
 * @returns {string | undefined}
 */
export const chromiumProgram = () => {
  if (process.env.HOLDFAST_CHROMIUM) return process.env.HOLDFAST_CHROMIUM
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

const isProgram = (path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Installs Chromium where there is none, and where that needs no question: for root where there is apt-get.
 *
 * @param {{ log: (line: string) => void }} options
 */
export const provideChromium = async ({ log }) => {
  if (chromiumProgram()) return
  if (!(await canInstallFromDebian())) {
    log('there is no chromium on the PATH, and HOLDFAST_CHROMIUM names none: tests of the board will fail')
    return
  }
  log('installing the package chromium with apt-get')
  await installFromDebian(['chromium', 'fonts-dejavu-core'])
}
