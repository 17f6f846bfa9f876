// A hook of Node's module loader: this process imports another build of `@holdfast/core`.
import { pathToFileURL } from 'node:url'
import type { InitializeHook, ResolveHook } from 'node:module'

let core: string

export const initialize: InitializeHook<string> = (file) => {
  core = pathToFileURL(file).href
}

export const resolve: ResolveHook = (specifier, context, next) =>
  specifier === '@holdfast/core' ? { url: core, shortCircuit: true } : next(specifier, context)
