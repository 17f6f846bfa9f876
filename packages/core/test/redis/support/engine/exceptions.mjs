const noPrefix = 'keyPrefix is of ioredis and node-redis; a TestRedis has none'
const noStatistics = 'counts commands by INFO commandstats, which the engine does not keep'
const noUsers = 'needs users of their own (ACL); a TestRedis has restrict()'

/** Tests of the suites in the project `engine` that cannot run there, each by a part of its title, and why. */
export const EXCEPTIONS = [
  { title: 'the queue of a key prefix is that of the whole name', reason: noPrefix },
  { title: 'a name with braces is its own hash tag, and a keyPrefix', reason: noPrefix },
  { title: 'is part of the raw name: the hash at prefix + name', reason: noPrefix },
  {
    title: 're-entry, renewal, extension, inspection and force-release go to the same key',
    reason: noPrefix,
  },
  { title: 'two clients with the same prefix exclude and wake each other', reason: noPrefix },
  { title: 'clients with other prefixes do not meet', reason: noPrefix },
  { title: 'costs one script to take and one to release', reason: noStatistics },
  { title: 'a wait goes on while the lock is held, and fails at once', reason: noStatistics },
  { title: 'is not warned of where INFO is forbidden', reason: noUsers },
  {
    title: 'is not warned of by a client without the command',
    reason: 'replaces a method of the ioredis client',
  },
  {
    title: 'is asked about when a given connection becomes ready',
    reason: 'opens a connection of ioredis late',
  },
  {
    title: 'a client that is closed before the first connection',
    reason: 'opens a connection of ioredis late',
  },
  { title: 'a lock that is evicted is lost at the next renewal', reason: 'fills the memory of a server' },
  {
    title: 'sends the tries of adjacent readers together',
    reason: 'listens to a method of the ioredis client',
  },
]
