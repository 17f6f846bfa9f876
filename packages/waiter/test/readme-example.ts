import { EventEmitter } from 'node:events'
import { Waiter } from '@holdfast/waiter'

const printers = ['laser']
const events = new EventEmitter()

const waiter = new Waiter(
  {
    subscribe: (topic, onMessage) => Promise.resolve(void events.on(topic, onMessage)),
    unsubscribe: (topic) => Promise.resolve(void events.removeAllListeners(topic)),
    onResubscribed: () => () => undefined, // an emitter has no connection to lose
  },
  {
    clock: {
      now: () => performance.now(),
      setTimer: (delayMs, fire) => {
        const timer = setTimeout(fire, delayMs)
        return { cancel: () => clearTimeout(timer) }
      },
    },
    random: () => Math.random(),
  },
)

const release = (printer: string) => {
  printers.push(printer)
  events.emit('printer free')
}

async function print(page: string): Promise<void> {
  const place = waiter.enter<string>({
    queue: 'printers',
    topic: 'printer free',
    attempt: () => {
      const value = printers.pop()
      return Promise.resolve(value === undefined ? { kind: 'refused' } : { kind: 'done', value })
    },
    timeoutMs: 5_000,
    undo: release,
  })
  const outcome = await place.outcome
  if (outcome.kind !== 'done') throw new Error(`${page} was not printed: ${outcome.kind}`)
  console.log(`${outcome.value} prints ${page}`)
  release(outcome.value)
}

await Promise.all([print('page 1'), print('page 2'), print('page 3')]) // one after the other, in this order
await waiter.close(new Error('the shop is closed'))
