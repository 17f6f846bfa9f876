import { count, flag, minutes, ms, oneOf, someNumbers, someOf, type OptionValues } from '../../run/options.js'
import { EVERY_FAULT, FAULT_NAMES } from '../../workload/faults.js'
import { KINDS } from './workload.js'

export const TORTURE_OPTIONS = {
  minutes: minutes(1, 'how long faults go on'),
  faults: someOf(EVERY_FAULT, 'faults; one that is named twice comes twice as often', {
    mayBeNone: true,
    all: FAULT_NAMES,
  }),
  kinds: someOf(KINDS, 'what the processes want'),
  processes: count(3, 'worker processes'),
  flows: count(12, 'callers in each process'),
  locks: count(8, 'locks they all want'),
  permits: count(5, 'permits of each semaphore', { least: 2 }),
  lease: ms(1_500, 'how long a lock lasts without renewal', { least: 300 }),
  resync: ms(300, 'how often a waiter asks without being woken', { least: 1 }),
  delay: ms(0, 'how long every chunk travels, faults apart'),
  distances: someNumbers([0, 3, 12], 'and how much longer, ms, for the processes in turns', { least: 0 }),
  drop: count(0, 'of the messages to a subscriber every N-th is lost, faults apart; 0: none', { least: 0 }),
  client: oneOf(['ioredis', 'ioredis5'], 'the package that carries the locks'),
  someAutoPipelining: flag('every second process has enableAutoPipelining'),
  interop: oneOf(['redisson', 'none'], 'who else uses the locks'),
  someReleaseEarly: flag('every second process has releaseWaitMs: 0'),
  notes: flag('every second process describes its holds'),
}

export type TortureOptions = typeof TORTURE_OPTIONS
export type TortureValues = OptionValues<TortureOptions>
