import { Inject, type InjectionToken } from '@nestjs/common'
import { LockClient } from '@holdfast/core'

/** Returns the injection token of a client: its class, or a name if there are several. */
export const getLocksToken = (name?: string): InjectionToken =>
  name === undefined ? LockClient : `HoldfastLocks:${name}`

/** Injects the client with this name: `@InjectLocks('billing') private readonly locks: LockClient`. */
export const InjectLocks = (name?: string): ParameterDecorator & PropertyDecorator =>
  Inject(getLocksToken(name))

/** Internal tokens of a module. */
export const OPTIONS = Symbol('HoldfastLocksOptions')
export const CLIENT = Symbol('HoldfastLocksClient')
export const EXTRAS = Symbol('HoldfastLocksExtras')
/** Ends the waits of handlers, and the campaigns: what would stand in the way of the end. */
export const ENDING = Symbol('HoldfastLocksEnding')
