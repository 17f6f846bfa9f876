import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const versionOf = (folder) => require(`${folder}/package.json`).version

/** @param {string} name of the Jest project @param {string} called @param {string} folder below node_modules */
const client = (name, called, folder) => ({ name, title: `${called} ${versionOf(folder)}` })

/** The clients that Holdfast runs on, each at the version that is installed here. */
export const CLIENTS = [
  client('ioredis6', 'ioredis', 'ioredis'),
  client('ioredis5', 'ioredis', 'ioredis5'),
  client('iovalkey', 'iovalkey', 'iovalkey'),
  client('noderedis6', 'node-redis', 'redis'),
  client('noderedis5', 'node-redis', 'redis5'),
]
