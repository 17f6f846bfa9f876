import { emit, serveWorker } from '@holdfast/faults/harness'

serveWorker({
  add(a, b) {
    emit('asked', [a, b])
    return a + b
  },
})
