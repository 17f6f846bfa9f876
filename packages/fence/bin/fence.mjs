#!/usr/bin/env node
// `npx @holdfast/fence sql postgres`: prints the SQL of the table, for a migration.
import { FENCE_TABLE } from '@holdfast/fence'

const [command, database = ''] = process.argv.slice(2)
const names = Object.keys(FENCE_TABLE)
if (command !== 'sql' || !names.includes(database)) {
  console.error(`Usage: npx @holdfast/fence sql ${names.join('|')}`)
  process.exit(64)
}
console.log(`${FENCE_TABLE[database]};`)
