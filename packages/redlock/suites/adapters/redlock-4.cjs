// Loaded before the suite of redlock 4: `./redlock` is the drop-in, and both of its clients are ioredis. The client
// `redis` of its time, which took callbacks, is none that Holdfast knows.
const Module = require('node:module')
const process = require('node:process')
const { Redis } = require('ioredis')

const port = JSON.parse(process.env.HOLDFAST_SUITE_PORTS)['redis-single-instance']
class Client extends Redis {
  constructor(options = {}) {
    super({ port, ...options })
  }
}
const given = {
  './redlock': () => require('@holdfast/redlock/v4').default,
  ioredis: () => Client,
  redis: () => ({ createClient: () => new Client() }),
  bluebird: () => require('bluebird'),
}
const load = Module._load
Module._load = function (request, parent, ...rest) {
  const isOfSuite = parent?.filename === process.env.HOLDFAST_SUITE_FILE
  return isOfSuite && request in given ? given[request]() : load.call(this, request, parent, ...rest)
}
