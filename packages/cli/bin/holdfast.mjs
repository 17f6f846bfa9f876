#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { main } from '../dist/index.js'

const guardian = fileURLToPath(new URL('guardian.mjs', import.meta.url))
process.exitCode = await main(process.argv.slice(2), { guardian })
