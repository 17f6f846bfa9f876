import { RedisReplication } from '@holdfast/faults/harness'

const group = await RedisReplication.start({ replicas: 1 })
const [former, replica] = [group.primary, group.replicas[0]!]

await former.command('SET', 'kept', 'yes')
await group.healReplication() // resolves when all replicas are in sync
group.cutReplication()
await former.command('SET', 'lost', 'yes') // and the answer is OK
await group.promote(replica)
await group.healReplication()
console.log(await group.primary.command('MGET', 'kept', 'lost')) // ['yes', null]

await group.stop()
