import * as operations from './operations.js'
import type { Place } from './operations.js'
import { parse } from './parser.js'
import type { BinaryOperator, Block, CallExpression, Expression, FunctionBody, Statement } from './syntax.js'
import { first, listOf, NOTHING, severalOf, type LuaFunction, type LuaTable } from './values.js'

/** Functions that compiled code calls. */
const SUPPORT = { ...operations, first, listOf, NOTHING, severalOf }

const OPERATIONS: Readonly<
  Record<Exclude<BinaryOperator, 'and' | 'or' | '==' | '~='>, keyof typeof SUPPORT>
> = {
  ...{ '+': 'add', '-': 'subtract', '*': 'multiply', '/': 'divide', '%': 'modulo', '^': 'power' },
  ...{ '..': 'concat', '<': 'isLess', '<=': 'isAtMost', '>': 'isMore', '>=': 'isAtLeast' },
}

/**
 * A script of Lua 5.1 as a function: translated into JavaScript, because that is compiled once and runs at its speed.
 * @param globals what the script finds under its global names
 * @throws LuaSyntaxError
 */
export function compile(source: string, globals: LuaTable): LuaFunction {
  const { make, places } = COMPILED.get(source) ?? translate(source)
  return make(SUPPORT, globals, places)
}

type Make = (...args: unknown[]) => LuaFunction

/** The latest sources: each server of a process loads the same scripts. */
const COMPILED = new Map<string, { readonly make: Make; readonly places: readonly Place[] }>()
const MOST_COMPILED = 500

function translate(source: string): { readonly make: Make; readonly places: readonly Place[] } {
  const compiler = new Compiler()
  const code = compiler.function(parse(source), null)
  const text = `'use strict'; const { ${Object.keys(SUPPORT).join(', ')} } = support; return ${code}`
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the text is made here, names and texts quoted
  const make = new Function('support', 'globals', 'places', text) as Make
  const [oldest] = COMPILED.keys()
  if (COMPILED.size === MOST_COMPILED && oldest !== undefined) {
    COMPILED.delete(oldest)
  }
  const translated = { make, places: compiler.places }
  COMPILED.set(source, translated)
  return translated
}

/** Whether only the right side can be the value, as Lua's compiler sees by the left one. */
function isSettled({ operator, left }: Expression & { kind: 'binary' }): boolean {
  return operator === 'and'
    ? ['number', 'string', 'true'].includes(left.kind)
    : operator === 'or' && ['nil', 'false'].includes(left.kind)
}

/** The names in a block, and those around it. */
class Scope {
  private readonly names = new Map<string, string>()

  constructor(
    readonly outer: Scope | null,
    /** Whether a function begins here: what is outside are its upvalues. */
    readonly isFunction: boolean,
  ) {}

  declare(name: string, as: string): void {
    this.names.set(name, as)
  }

  find(name: string): { readonly as: string; readonly isUpvalue: boolean } | null {
    const as = this.names.get(name)
    if (as !== undefined) {
      return { as, isUpvalue: false }
    }
    const found = this.outer?.find(name) ?? null
    return found && { as: found.as, isUpvalue: found.isUpvalue || this.isFunction }
  }
}

class Compiler {
  readonly places: Place[] = []
  private made = 0
  /** Variables of the function that is being compiled, for what must be read twice. */
  private temporaries: string[] = []

  function(body: FunctionBody, outer: Scope | null): string {
    const around = this.temporaries
    this.temporaries = []
    const scope = new Scope(outer, true)
    const parameters = body.parameters.map((name) => this.declare(name, scope))
    const rest = body.isVararg ? ['...varargs'] : []
    const block = this.block(body.block, scope)
    const temporaries = this.temporaries.length > 0 ? `let ${this.temporaries.join(', ')};\n` : ''
    this.temporaries = around
    return `function (${[...parameters, ...rest].join(', ')}) {\n${temporaries}${block}return NOTHING\n}`
  }

  private declare(name: string, scope: Scope): string {
    const as = this.fresh(name)
    scope.declare(name, as)
    return as
  }

  private fresh(name: string): string {
    this.made += 1
    return `${name}$${this.made}`
  }

  private place(line: number, left = '', right = ''): string {
    return `places[${this.places.push({ line, left, right }) - 1}]`
  }

  private block(block: Block, scope: Scope): string {
    return block.map((each) => `${this.statement(each, scope)}\n`).join('')
  }

  private inner(block: Block, scope: Scope): string {
    return `{\n${this.block(block, new Scope(scope, false))}}`
  }

  private statement(statement: Statement, scope: Scope): string {
    switch (statement.kind) {
      case 'local':
        return this.local(statement, scope)
      case 'local function': {
        const as = this.declare(statement.name, scope)
        return `let ${as} = ${this.function(statement.body, scope)};`
      }
      case 'assign':
        return this.assign(statement, scope)
      case 'call':
        return `${this.call(statement.call, scope)};`
      case 'do':
        return this.inner(statement.block, scope)
      case 'while':
        return `while (${this.condition(statement.condition, scope)}) ${this.inner(statement.block, scope)}`
      case 'repeat': {
        // The condition sees the locals of the block.
        const inside = new Scope(scope, false)
        const block = this.block(statement.block, inside)
        return `for (;;) {\n${block}if (${this.condition(statement.condition, inside)}) break\n}`
      }
      case 'if':
        return this.conditional(statement, scope)
      case 'numeric for':
        return this.numericFor(statement, scope)
      case 'generic for':
        return this.genericFor(statement, scope)
      case 'return':
        return `return ${this.results(statement.values, scope)};`
      case 'break':
        return 'break;'
    }
  }

  private local({ names, values }: Statement & { kind: 'local' }, scope: Scope): string {
    if (values.length <= 1 && names.length === 1) {
      const value = values[0] ? this.value(values[0], scope) : 'undefined'
      return `let ${this.declare(names[0] as string, scope)} = ${value};`
    }
    // The values do not see the new names.
    const list = this.list(values, scope)
    return `let [${names.map((name) => this.declare(name, scope)).join(', ')}] = ${list};`
  }

  private assign({ targets, values }: Statement & { kind: 'assign' }, scope: Scope): string {
    const [target] = targets
    if (target && targets.length === 1 && values.length === 1) {
      return this.store(target, this.value(values[0] as Expression, scope), scope)
    }
    // All is evaluated before anything is assigned.
    const made = this.fresh('values')
    const prepared: string[] = []
    const stores = targets.map((each, i) => {
      if (each.kind !== 'index') {
        return this.store(each, `${made}[${i}]`, scope)
      }
      const [object, key] = [this.fresh('object'), this.fresh('key')]
      prepared.push(
        `const ${object} = ${this.value(each.object, scope)}, ${key} = ${this.value(each.key, scope)};`,
      )
      return `setIndex(${object}, ${key}, ${made}[${i}], ${this.place(each.line, this.nameOf(each.object, scope))});`
    })
    return `{ ${prepared.join(' ')} const ${made} = ${this.list(values, scope)}; ${stores.join(' ')} }`
  }

  private store(target: Expression, value: string, scope: Scope): string {
    if (target.kind === 'index') {
      const place = this.place(target.line, this.nameOf(target.object, scope))
      return `setIndex(${this.value(target.object, scope)}, ${this.value(target.key, scope)}, ${value}, ${place});`
    }
    const { name, line } = target as Expression & { kind: 'name' }
    const found = scope.find(name)
    return found
      ? `${found.as} = ${value};`
      : `setIndex(globals, ${JSON.stringify(name)}, ${value}, ${this.place(line)});`
  }

  private conditional({ branches, otherwise }: Statement & { kind: 'if' }, scope: Scope): string {
    const parts = branches.map(
      ({ condition, block }) => `if (${this.condition(condition, scope)}) ${this.inner(block, scope)}`,
    )
    return otherwise ? [...parts, this.inner(otherwise, scope)].join(' else ') : parts.join(' else ')
  }

  private numericFor(loop: Statement & { kind: 'numeric for' }, scope: Scope): string {
    const [at, end, by] = [this.fresh('at'), this.fresh('end'), this.fresh('by')]
    const limit = (value: Expression, what: string): string =>
      value.kind === 'number'
        ? `${value.value}`
        : `loopNumber(${this.value(value, scope)}, '${what}', ${loop.line})`
    const begin = `let ${at} = ${limit(loop.from, 'initial value')}, ${end} = ${limit(loop.to, 'limit')}`
    const step = loop.step ? limit(loop.step, 'step') : '1'
    const inside = new Scope(scope, false)
    const name = this.declare(loop.name, inside)
    const isOn = loop.step ? `${by} > 0 ? ${at} <= ${end} : ${at} >= ${end}` : `${at} <= ${end}`
    const body = `let ${name} = ${at};\n${this.block(loop.block, inside)}`
    return `for (${begin}, ${by} = ${step}; ${isOn}; ${at} += ${by}) {\n${body}}`
  }

  private genericFor(loop: Statement & { kind: 'generic for' }, scope: Scope): string {
    const [results, next, state, control] = ['results', 'next', 'state', 'control'].map((name) =>
      this.fresh(name),
    ) as [string, string, string, string]
    const begin = `let [${next}, ${state}, ${control}] = listOf(${this.results(loop.values, scope)});`
    const inside = new Scope(scope, false)
    const [one = '', ...others] = loop.names.map((name) => this.declare(name, inside))
    const step = `const ${results} = call(${next}, ${this.place(loop.line)}, ${state}, ${control});`
    const names =
      others.length > 0 ? `[${one}, ${others.join(', ')}] = listOf(${results})` : `${one} = first(${results})`
    const onward = `if (${one} === undefined) break;\n${control} = ${one};`
    return `{ ${begin}\nfor (;;) {\n${step}\nlet ${names};\n${onward}\n${this.block(loop.block, inside)}} }`
  }

  /** Whether it may be other than exactly one value. */
  private isOpen(expression: Expression | undefined): boolean {
    return expression?.kind === 'call' || expression?.kind === 'vararg'
  }

  /** JavaScript for `Results`. */
  private results(values: readonly Expression[], scope: Scope): string {
    const [one] = values
    if (one && values.length === 1) {
      return this.open(one, scope)
    }
    return values.length === 0 ? 'NOTHING' : `severalOf(${this.list(values, scope)})`
  }

  /** JavaScript for `Results` of one expression. */
  private open(expression: Expression, scope: Scope): string {
    if (expression.kind === 'call') {
      return this.call(expression, scope)
    }
    return expression.kind === 'vararg' ? 'severalOf(varargs)' : this.value(expression, scope)
  }

  /** JavaScript for an array of all the values. */
  private list(values: readonly Expression[], scope: Scope): string {
    const last = values.at(-1)
    const parts = values.map((each, i) =>
      i === values.length - 1 && last && this.isOpen(last)
        ? `...listOf(${this.open(last, scope)})`
        : this.value(each, scope),
    )
    return `[${parts.join(', ')}]`
  }

  private call({ callee, method, args, line }: CallExpression, scope: Scope): string {
    if (method !== null) {
      const place = this.place(line, `method '${method}'`, this.nameOf(callee, scope))
      const list = this.list(args, scope)
      return `method(${this.value(callee, scope)}, ${JSON.stringify(method)}, ${place}, ${list})`
    }
    const head = `${this.value(callee, scope)}, ${this.place(line, this.nameOf(callee, scope))}`
    if (this.isOpen(args.at(-1))) {
      const last = this.open(args.at(-1) as Expression, scope)
      const others = args.slice(0, -1).map((each) => this.value(each, scope))
      return `callWith(${head}, [${others.join(', ')}], ${last})`
    }
    const values = args.map((each) => `, ${this.value(each, scope)}`)
    return `call${args.length < 2 ? args.length : ''}(${head}${values.join('')})`
  }

  private condition(expression: Expression, scope: Scope): string {
    if (expression.kind === 'unary' && expression.operator === 'not') {
      return `!(${this.condition(expression.operand, scope)})`
    }
    if (expression.kind === 'binary') {
      const { operator, left, right } = expression
      if (operator === 'and' || operator === 'or') {
        const sign = operator === 'and' ? '&&' : '||'
        return `((${this.condition(left, scope)}) ${sign} (${this.condition(right, scope)}))`
      }
      if (['==', '~=', '<', '<=', '>', '>='].includes(operator)) {
        return this.value(expression, scope)
      }
    }
    return `isTrue(${this.value(expression, scope)})`
  }

  /** JavaScript for exactly one value. */
  private value(expression: Expression, scope: Scope): string {
    switch (expression.kind) {
      case 'nil':
        return 'undefined'
      case 'true':
      case 'false':
        return expression.kind
      case 'number':
        return `${expression.value}`
      case 'string':
        return JSON.stringify(expression.value)
      case 'vararg':
        return 'varargs[0]'
      case 'name':
        return this.variable(expression.name, expression.line, scope)
      case 'index':
        return `index(${this.value(expression.object, scope)}, ${this.value(expression.key, scope)}, ${this.place(expression.line, this.nameOf(expression.object, scope))})`
      case 'call':
        return `first(${this.call(expression, scope)})`
      case 'function':
        return `(${this.function(expression.body, scope)})`
      case 'binary':
        return this.binary(expression, scope)
      case 'unary':
        return this.unary(expression, scope)
      case 'table':
        return this.table(expression, scope)
      case 'paren':
        return this.value(expression.inner, scope)
    }
  }

  private variable(name: string, line: number, scope: Scope): string {
    return scope.find(name)?.as ?? `index(globals, ${JSON.stringify(name)}, ${this.place(line)})`
  }

  private binary({ operator, left, right, line }: Expression & { kind: 'binary' }, scope: Scope): string {
    const [one, other] = [this.value(left, scope), this.value(right, scope)]
    if (operator === 'and' || operator === 'or') {
      const value = this.fresh('value')
      this.temporaries.push(value)
      const [ifTrue, ifFalse] = operator === 'and' ? [other, value] : [value, other]
      return `(isTrue(${value} = ${one}) ? ${ifTrue} : ${ifFalse})`
    }
    if (operator === '==' || operator === '~=') {
      return `(${one} ${operator === '==' ? '===' : '!=='} ${other})`
    }
    const place = this.place(line, this.nameOf(left, scope), this.nameOf(right, scope))
    return `${OPERATIONS[operator]}(${one}, ${other}, ${place})`
  }

  private unary({ operator, operand, line }: Expression & { kind: 'unary' }, scope: Scope): string {
    if (operator === 'not') {
      return `!isTrue(${this.value(operand, scope)})`
    }
    const place = this.place(line, this.nameOf(operand, scope))
    return `${operator === '-' ? 'negate' : 'length'}(${this.value(operand, scope)}, ${place})`
  }

  private table({ fields }: Expression & { kind: 'table' }, scope: Scope): string {
    const listed = fields.filter(({ key }) => key === null).map(({ value }) => value)
    // Several results of a call stand in the list only where it is the last field of all.
    const isCut = this.isOpen(listed.at(-1)) && fields.at(-1)?.key !== null
    const last = listed.at(-1)
    const list =
      isCut && last
        ? [...listed.slice(0, -1), { kind: 'paren' as const, inner: last, line: last.line }]
        : listed
    const pairs = fields.flatMap(({ key, value }) =>
      key ? [`[${this.value(key, scope)}, ${this.value(value, scope)}]`] : [],
    )
    return `tableOf(${this.list(list, scope)}${pairs.length > 0 ? `, ${pairs.join(', ')}` : ''})`
  }

  /** The name of a value in an error of Lua; empty: it has no name. */
  private nameOf(expression: Expression, scope: Scope): string {
    if (expression.kind === 'name') {
      const found = scope.find(expression.name)
      const kind = found ? (found.isUpvalue ? 'upvalue' : 'local') : 'global'
      return `${kind} '${expression.name}'`
    }
    if (expression.kind === 'paren') {
      return this.nameOf(expression.inner, scope)
    }
    if (expression.kind === 'binary' && isSettled(expression)) {
      return this.nameOf(expression.right, scope)
    }
    if (expression.kind === 'index') {
      return `field '${expression.key.kind === 'string' ? expression.key.value : '?'}'`
    }
    return ''
  }
}
