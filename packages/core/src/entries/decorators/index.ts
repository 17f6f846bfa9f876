export { Locked } from './locked.js'
export type { NeverSkipped } from './locked.js'
export type { LockChoice, LockedOptions } from './locked-options.js'
export type {
  Fitting,
  LockableMethod,
  LockedDecorator,
  OrUndefined,
  SkippingDecorator,
} from './locked-decorator.js'
export { provideLocks } from './provide-locks.js'
export { currentHold } from './current-hold.js'
