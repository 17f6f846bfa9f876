// The syntax tree of Lua 5.1, as far as the compiler needs it. `line` is the one that Lua would name in an error.

export type Expression =
  | { readonly kind: 'nil' | 'true' | 'false' | 'vararg'; readonly line: number }
  | { readonly kind: 'number'; readonly value: number; readonly line: number }
  | { readonly kind: 'string'; readonly value: string; readonly line: number }
  | { readonly kind: 'name'; readonly name: string; readonly line: number }
  | {
      readonly kind: 'index'
      readonly object: Expression
      readonly key: Expression
      readonly line: number
    }
  | CallExpression
  | { readonly kind: 'function'; readonly body: FunctionBody; readonly line: number }
  | {
      readonly kind: 'binary'
      readonly operator: BinaryOperator
      readonly left: Expression
      readonly right: Expression
      readonly line: number
    }
  | {
      readonly kind: 'unary'
      readonly operator: 'not' | '-' | '#'
      readonly operand: Expression
      readonly line: number
    }
  | { readonly kind: 'table'; readonly fields: readonly Field[]; readonly line: number }
  /** In parentheses, which cut several results to one. */
  | { readonly kind: 'paren'; readonly inner: Expression; readonly line: number }

export interface CallExpression {
  readonly kind: 'call'
  readonly callee: Expression
  /** The method of `object:method()`; null: a plain call. */
  readonly method: string | null
  readonly args: readonly Expression[]
  readonly line: number
}

export type BinaryOperator =
  ('+' | '-' | '*' | '/' | '%' | '^' | '..') | ('==' | '~=' | '<' | '<=' | '>' | '>=') | ('and' | 'or')

/** `key` null: the next place of the list. */
export interface Field {
  readonly key: Expression | null
  readonly value: Expression
}

export interface FunctionBody {
  readonly parameters: readonly string[]
  readonly isVararg: boolean
  readonly block: Block
}

export type Block = readonly Statement[]

export type Statement =
  | { readonly kind: 'local'; readonly names: readonly string[]; readonly values: readonly Expression[] }
  | { readonly kind: 'local function'; readonly name: string; readonly body: FunctionBody }
  | {
      readonly kind: 'assign'
      readonly targets: readonly Expression[]
      readonly values: readonly Expression[]
    }
  | { readonly kind: 'call'; readonly call: CallExpression }
  | { readonly kind: 'do'; readonly block: Block }
  | { readonly kind: 'while'; readonly condition: Expression; readonly block: Block }
  | { readonly kind: 'repeat'; readonly block: Block; readonly condition: Expression }
  | {
      readonly kind: 'if'
      readonly branches: readonly { readonly condition: Expression; readonly block: Block }[]
      readonly otherwise: Block | null
    }
  | {
      readonly kind: 'numeric for'
      readonly name: string
      readonly from: Expression
      readonly to: Expression
      readonly step: Expression | null
      readonly block: Block
      readonly line: number
    }
  | {
      readonly kind: 'generic for'
      readonly names: readonly string[]
      readonly values: readonly Expression[]
      readonly block: Block
      readonly line: number
    }
  | { readonly kind: 'return'; readonly values: readonly Expression[] }
  | { readonly kind: 'break' }
