import { LuaSyntaxError, tokensOf, type Token } from './lexer.js'
import type { BinaryOperator, Block, Expression, Field, FunctionBody, Statement } from './syntax.js'

/** How strongly an operator binds to its left and to its right: the larger on the left, the more it groups rightwards. */
const BINDING: Readonly<Record<BinaryOperator, readonly [number, number]>> = {
  ...{ or: [1, 1], and: [2, 2] },
  ...{ '<': [3, 3], '>': [3, 3], '<=': [3, 3], '>=': [3, 3], '~=': [3, 3], '==': [3, 3] },
  ...{ '..': [5, 4], '+': [6, 6], '-': [6, 6], '*': [7, 7], '/': [7, 7], '%': [7, 7], '^': [10, 9] },
}
const UNARY_BINDING = 8
const BLOCK_ENDS = new Set(['end', 'else', 'elseif', 'until', '<eof>'])

/** The syntax tree of a script, whose characters are bytes. @throws LuaSyntaxError */
export function parse(source: string): FunctionBody {
  return new Parser(tokensOf(source)).script()
}

class Parser {
  private at = 0
  /** For each function around this place: whether it has `...`. */
  private readonly varargs = [true]
  /** For each function around this place: how many of its loops are. */
  private readonly loops = [0]

  constructor(private readonly tokens: readonly Token[]) {}

  script(): FunctionBody {
    const block = this.block()
    if (this.now.type !== 'end') {
      this.fail(`'<eof>' expected`)
    }
    return { parameters: [], isVararg: true, block }
  }

  private get now(): Token {
    return this.tokens[this.at] as Token
  }

  private take(): Token {
    const token = this.now
    this.at += 1
    return token
  }

  private is(text: string): boolean {
    const { now } = this
    return now.text === text && now.type !== 'string' && now.type !== 'name'
  }

  private takeIf(text: string): boolean {
    const isThere = this.is(text)
    if (isThere) {
      this.at += 1
    }
    return isThere
  }

  private expect(text: string): void {
    if (!this.takeIf(text)) {
      this.fail(`'${text}' expected`)
    }
  }

  private name(): string {
    if (this.now.type !== 'name') {
      this.fail(`'<name>' expected`)
    }
    return this.take().text
  }

  private fail(what: string): never {
    throw new LuaSyntaxError(`${what} near '${this.now.text}'`, this.now.line)
  }

  private block(): Block {
    const statements: Statement[] = []
    while (!(this.now.type !== 'string' && this.now.type !== 'name' && BLOCK_ENDS.has(this.now.text))) {
      const statement = this.statement()
      this.takeIf(';')
      statements.push(statement)
      if (statement.kind === 'return' || statement.kind === 'break') {
        break
      }
    }
    return statements
  }

  private blockThenEnd(): Block {
    const block = this.block()
    this.expect('end')
    return block
  }

  private looped(block: () => Block): Block {
    const depth = this.loops.length - 1
    this.loops[depth] = (this.loops[depth] ?? 0) + 1
    const inside = block()
    this.loops[depth] = (this.loops[depth] ?? 0) - 1
    return inside
  }

  private statement(): Statement {
    const { text, type } = this.now
    if (type !== 'keyword') {
      return this.callOrAssignment()
    }
    switch (text) {
      case 'local':
        return this.local()
      case 'if':
        return this.conditional()
      case 'for':
        return this.loop()
      case 'function':
        return this.functionStatement()
      case 'return':
        return this.returned()
      default:
        return this.otherStatement(text)
    }
  }

  private otherStatement(text: string): Statement {
    if (this.takeIf('break')) {
      if (this.loops.at(-1) === 0) {
        this.fail('no loop to break')
      }
      return { kind: 'break' }
    }
    if (this.takeIf('do')) {
      return { kind: 'do', block: this.blockThenEnd() }
    }
    if (this.takeIf('while')) {
      const condition = this.expression()
      this.expect('do')
      return { kind: 'while', condition, block: this.looped(() => this.blockThenEnd()) }
    }
    if (this.takeIf('repeat')) {
      const block = this.looped(() => this.block())
      this.expect('until')
      return { kind: 'repeat', block, condition: this.expression() }
    }
    return text === 'not' || text === 'nil' ? this.fail('unexpected symbol') : this.callOrAssignment()
  }

  private local(): Statement {
    this.take()
    if (this.takeIf('function')) {
      return { kind: 'local function', name: this.name(), body: this.functionBody([]) }
    }
    const names = this.names()
    return { kind: 'local', names, values: this.takeIf('=') ? this.expressions() : [] }
  }

  private names(): string[] {
    const names = [this.name()]
    while (this.takeIf(',')) {
      names.push(this.name())
    }
    return names
  }

  private conditional(): Statement {
    const branches = []
    let otherwise: Block | null = null
    do {
      this.take()
      const condition = this.expression()
      this.expect('then')
      branches.push({ condition, block: this.block() })
    } while (this.is('elseif'))
    if (this.takeIf('else')) {
      otherwise = this.block()
    }
    this.expect('end')
    return { kind: 'if', branches, otherwise }
  }

  private loop(): Statement {
    const { line } = this.take()
    const names = this.names()
    const [name = ''] = names
    if (names.length === 1 && this.takeIf('=')) {
      const from = this.expression()
      this.expect(',')
      const to = this.expression()
      const step = this.takeIf(',') ? this.expression() : null
      this.expect('do')
      return {
        kind: 'numeric for',
        name,
        from,
        to,
        step,
        block: this.looped(() => this.blockThenEnd()),
        line,
      }
    }
    this.expect('in')
    const values = this.expressions()
    this.expect('do')
    return { kind: 'generic for', names, values, block: this.looped(() => this.blockThenEnd()), line }
  }

  private functionStatement(): Statement {
    const { line } = this.take()
    let target: Expression = { kind: 'name', name: this.name(), line }
    while (this.takeIf('.')) {
      target = { kind: 'index', object: target, key: { kind: 'string', value: this.name(), line }, line }
    }
    const isMethod = this.takeIf(':')
    if (isMethod) {
      target = { kind: 'index', object: target, key: { kind: 'string', value: this.name(), line }, line }
    }
    const body = this.functionBody(isMethod ? ['self'] : [])
    return { kind: 'assign', targets: [target], values: [{ kind: 'function', body, line }] }
  }

  private functionBody(implied: readonly string[]): FunctionBody {
    const parameters = [...implied]
    let isVararg = false
    this.expect('(')
    if (!this.is(')')) {
      do {
        isVararg = this.takeIf('...')
        if (!isVararg) {
          parameters.push(this.name())
        }
      } while (!isVararg && this.takeIf(','))
    }
    this.expect(')')
    this.varargs.push(isVararg)
    this.loops.push(0)
    const block = this.blockThenEnd()
    this.loops.pop()
    this.varargs.pop()
    return { parameters, isVararg, block }
  }

  private returned(): Statement {
    this.take()
    const isBare = this.is(';') || (this.now.type !== 'string' && BLOCK_ENDS.has(this.now.text))
    return { kind: 'return', values: isBare ? [] : this.expressions() }
  }

  private callOrAssignment(): Statement {
    const first = this.suffixed()
    if (first.kind === 'call' && !this.is('=') && !this.is(',')) {
      return { kind: 'call', call: first }
    }
    const targets = [first]
    while (this.takeIf(',')) {
      targets.push(this.suffixed())
    }
    if (!this.is('=') || targets.some(({ kind }) => kind !== 'name' && kind !== 'index')) {
      this.fail(`'=' expected`)
    }
    this.take()
    return { kind: 'assign', targets, values: this.expressions() }
  }

  private expressions(): Expression[] {
    const expressions = [this.expression()]
    while (this.takeIf(',')) {
      expressions.push(this.expression())
    }
    return expressions
  }

  private expression(limit = 0): Expression {
    let left = this.unary()
    for (;;) {
      const { text, line, type } = this.now
      const binding = type === 'symbol' || type === 'keyword' ? bindingOf(text) : undefined
      if (!binding || binding[0] <= limit) {
        return left
      }
      this.take()
      const right = this.expression(binding[1])
      left = { kind: 'binary', operator: text as BinaryOperator, left, right, line }
    }
  }

  private unary(): Expression {
    const { line } = this.now
    for (const operator of ['not', '-', '#'] as const) {
      if (this.takeIf(operator)) {
        return { kind: 'unary', operator, operand: this.expression(UNARY_BINDING), line }
      }
    }
    return this.simple()
  }

  private simple(): Expression {
    const { type, text, line } = this.now
    if (type === 'number') {
      this.take()
      return { kind: 'number', value: Number(text), line }
    }
    if (type === 'string') {
      this.take()
      return { kind: 'string', value: text, line }
    }
    for (const kind of ['nil', 'true', 'false'] as const) {
      if (this.takeIf(kind)) {
        return { kind, line }
      }
    }
    if (this.takeIf('...')) {
      if (this.varargs.at(-1) !== true) {
        throw new LuaSyntaxError(`cannot use '...' outside a vararg function near '...'`, line)
      }
      return { kind: 'vararg', line }
    }
    if (this.takeIf('function')) {
      return { kind: 'function', body: this.functionBody([]), line }
    }
    return this.is('{') ? this.table() : this.suffixed()
  }

  private table(): Expression {
    const { line } = this.take()
    const fields: Field[] = []
    while (!this.is('}')) {
      fields.push(this.field())
      if (!this.takeIf(',') && !this.takeIf(';')) {
        break
      }
    }
    this.expect('}')
    return { kind: 'table', fields, line }
  }

  private field(): Field {
    if (this.takeIf('[')) {
      const key = this.expression()
      this.expect(']')
      this.expect('=')
      return { key, value: this.expression() }
    }
    const { type, text, line } = this.now
    const next = this.tokens[this.at + 1]
    if (type === 'name' && next?.type === 'symbol' && next.text === '=') {
      this.at += 2
      return { key: { kind: 'string', value: text, line }, value: this.expression() }
    }
    return { key: null, value: this.expression() }
  }

  private suffixed(): Expression {
    let expression = this.primary()
    for (;;) {
      const { line } = this.now
      if (this.takeIf('.')) {
        const key: Expression = { kind: 'string', value: this.name(), line }
        expression = { kind: 'index', object: expression, key, line }
      } else if (this.takeIf('[')) {
        const key = this.expression()
        this.expect(']')
        expression = { kind: 'index', object: expression, key, line }
      } else if (this.takeIf(':')) {
        const method = this.name()
        expression = { kind: 'call', callee: expression, method, args: this.args(), line }
      } else if (this.is('(') || this.is('{') || this.now.type === 'string') {
        expression = { kind: 'call', callee: expression, method: null, args: this.args(), line }
      } else {
        return expression
      }
    }
  }

  private primary(): Expression {
    const { line } = this.now
    if (this.takeIf('(')) {
      const inner = this.expression()
      this.expect(')')
      return { kind: 'paren', inner, line }
    }
    if (this.now.type !== 'name') {
      this.fail('unexpected symbol')
    }
    return { kind: 'name', name: this.take().text, line }
  }

  private args(): readonly Expression[] {
    const { type, text, line } = this.now
    if (type === 'string') {
      this.take()
      return [{ kind: 'string', value: text, line }]
    }
    if (this.is('{')) {
      return [this.table()]
    }
    this.expect('(')
    const args = this.is(')') ? [] : this.expressions()
    this.expect(')')
    return args
  }
}

function bindingOf(text: string): readonly [number, number] | undefined {
  return Object.hasOwn(BINDING, text) ? BINDING[text as BinaryOperator] : undefined
}
