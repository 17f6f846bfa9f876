export { HoldfastInstrumentation, instrument } from './instrumentation.js'
export { lockNameTemplate } from './lock-name-template.js'
export type { InstrumentationOptions, LockNaming } from './options.js'
export { currentTraceparent } from './traceparent.js'
