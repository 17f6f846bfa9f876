import { ManualClock } from '@holdfast/faults/harness'

const clock = new ManualClock()
clock.setTimer(1_000, () => console.log('a second is over'))
await clock.advance(999)
console.log(clock.pendingTimers) // 1
await clock.advance(1) // a second is over
