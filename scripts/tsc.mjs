// The native compiler of TypeScript 7 (docs/decisions/0011-toolchain.md), with the arguments of the command line. It has
// the same file name in `node_modules/.bin` as TypeScript 6, which other tools use for its API.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const TSC = fileURLToPath(new URL('../node_modules/typescript-native/bin/tsc', import.meta.url))

/** @returns {number} the exit code */
export const tsc = (...args) => spawnSync(process.execPath, [TSC, ...args], { stdio: 'inherit' }).status ?? 1

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = tsc(...process.argv.slice(2))
