#!/usr/bin/env node
// Starts @holdfast/cli, which is a package of its own: services that take locks do not install a command line.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const MANIFEST = '@holdfast/cli/package.json'

/** Beside this package, or in the project around the working directory. */
const manifestOfCli = () => {
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json'))]) {
    try {
      return createRequire(from).resolve(MANIFEST)
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return undefined
}

const manifest = manifestOfCli()
if (manifest === undefined) {
  console.error(
    'holdfast: the command line is a package of its own, and it is not installed. Either of these will do:\n' +
      '  npx @holdfast/cli --help\n' +
      '  npm install @holdfast/cli',
  )
  process.exitCode = 127
} else {
  await import(pathToFileURL(join(dirname(manifest), 'bin/holdfast.mjs')).href)
}
