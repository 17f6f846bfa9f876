import { emit, serveWorker } from '@holdfast/testing'

serveWorker({
  add(a, b) {
    emit('asked', [a, b])
    return a + b
  },
})
