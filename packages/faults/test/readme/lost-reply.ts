import { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'

const server = await RedisServer.start()
const proxy = await FaultProxy.start(server)
const redis = new Redis(proxy.url)

const fault = proxy.loseReply((request) => request.includes('incr'))
const visits = await redis.incr('visits')
await fault.happened
console.log(`counted one visit, Redis has ${visits}`) // 2: ioredis sent it again

redis.disconnect()
await proxy.stop()
await server.stop()
