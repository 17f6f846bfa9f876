import { InvalidArgumentError } from '../../index.js'

/** Makes the lock's name for one call. @throws InvalidArgumentError */
export type LockNaming = (self: unknown, args: readonly unknown[]) => string

const PLACEHOLDER = /\{([^{}]*)\}/
const PATH = /^(this(?=\.)|\d+)(\.[A-Za-z_$][\w$]*)*$/
// Encoded in values, so that a value cannot extend into the template: 'a:b' and 'c' must give another name than 'a'
// and 'b:c'. Braces would choose the slot on a cluster.
const RESERVED = /[%:/|#,{}\s]/g
const SEPARATOR = /[:/|#,\s]/
const PATHS =
  'an argument by its number, as in {0} or {0.id}, or a property of the object, as in {this.tenant}'

/**
 * Parses a template: `'order:{0}'`, `'order:{0.id}'`, `'{this.tenant}:order:{0}'`; braces contain a value of the
 * call.
 * @throws InvalidArgumentError not a template
 */
export function namingByTemplate(template: string): LockNaming {
  // Texts and placeholders alternate, beginning and ending with a text.
  const parts = template.split(PLACEHOLDER)
  const readers = parts.map((part, i) => (i % 2 === 1 ? readerOf(part, template) : part))
  parts.forEach((part, i) => {
    checkText(part, i, { template, last: parts.length - 1 })
  })
  return (self, args) => readers.map((part) => (typeof part === 'string' ? part : part(self, args))).join('')
}

function checkText(part: string, i: number, { template, last }: { template: string; last: number }): void {
  if (i % 2 === 1) {
    return
  }
  if (/[{}]/.test(part)) {
    throw new InvalidArgumentError('name', template, 'a template whose braces come in pairs')
  }
  if (i > 0 && i < last && !SEPARATOR.test(part)) {
    throw new InvalidArgumentError(
      'name',
      template,
      'a template with one of : / | # , between two placeholders',
    )
  }
}

function readerOf(path: string, template: string): LockNaming {
  if (!PATH.test(path)) {
    throw new InvalidArgumentError('name', template, `a template whose braces hold ${PATHS}`)
  }
  const [root = '', ...properties] = path.split('.')
  return (self, args) => {
    let value: unknown = root === 'this' ? self : args[Number(root)]
    for (const property of properties) {
      value = (value as Record<string, unknown> | null | undefined)?.[property]
    }
    return written(value, `{${path}} of the lock name ${JSON.stringify(template)}`)
  }
}

/**
 * Without the check, calls with an empty or missing value would share one lock, and so would all calls with objects.
 */
function written(value: unknown, what: string): string {
  const isUsable =
    (typeof value === 'string' && value !== '') ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    typeof value === 'bigint' ||
    typeof value === 'boolean'
  if (!isUsable) {
    throw new InvalidArgumentError(what, value, 'a non-empty string, a finite number, a bigint or a boolean')
  }
  return String(value).replace(RESERVED, encodeURIComponent)
}

/** `Class.method`: the class that declares the method, not that of the object. */
export function namingByMethod(method: string | symbol, replacement: () => unknown): LockNaming {
  const methodName = typeof method === 'symbol' ? (method.description ?? '') : method
  return (self) => {
    const className = declaringClass(self, method, replacement())
    if (className === '' || methodName === '') {
      throw new InvalidArgumentError(
        'name',
        undefined,
        "given, as in { name: 'order:{0}' }, if the class or the method has no name",
      )
    }
    return `${className}.${methodName}`
  }
}

function declaringClass(self: unknown, method: string | symbol, replacement: unknown): string {
  let nearest = ''
  for (
    let at = self as object | null | undefined;
    at != null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    const own = Object.getOwnPropertyDescriptor(at, method)
    if (own) {
      nearest ||= nameOf(at)
      if (own.value === replacement) {
        return nameOf(at)
      }
    }
  }
  // Another decorator has wrapped the replacement, or the method is private.
  return nearest || nameOf(self as object)
}

/** The class's name, of a class (static methods), a prototype or an object. */
function nameOf(at: object | null | undefined): string {
  const named = typeof at === 'function' ? at : (at?.constructor as { name?: unknown } | undefined)
  return typeof named?.name === 'string' ? named.name : ''
}
