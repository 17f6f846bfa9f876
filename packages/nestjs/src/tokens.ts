import { Inject, type InjectionToken } from '@nestjs/common'
import { LockClient } from '@holdfast/core'

/** What a client is provided as: by its class, or, of several, by its name. */
export const getLocksToken = (name?: string): InjectionToken =>
  name === undefined ? LockClient : `HoldfastLocks:${name}`

/** Injects the client of a name: `@InjectLocks('billing') private readonly locks: LockClient`. */
export const InjectLocks = (name?: string): ParameterDecorator & PropertyDecorator =>
  Inject(getLocksToken(name))

/** What a module keeps to itself. */
export const OPTIONS = Symbol('HoldfastLocksOptions')
export const CLIENT = Symbol('HoldfastLocksClient')
export const EXTRAS = Symbol('HoldfastLocksExtras')
