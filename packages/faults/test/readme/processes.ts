import { WorkerProcess } from '@holdfast/faults/harness'

const worker = await WorkerProcess.start(new URL('./adder.mjs', import.meta.url))
console.log(await worker.call('add', 2, 3)) // 5
console.log(await worker.once('asked')) // [2, 3]

await worker.pause() // SIGSTOP: it stands still
const late = worker.call('add', 20, 3)
worker.resume()
console.log(await late) // 23

await worker.kill()
console.log(await worker.exited) // { code: null, signal: 'SIGKILL' }
