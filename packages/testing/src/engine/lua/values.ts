// Lua's values in JavaScript: nil is undefined, a string is one whose characters are bytes.

export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction

/** One value as itself; none or several as `Several`. So a call that returns one value makes no object. */
export type Results = LuaValue | Several

export type LuaFunction = (...args: LuaValue[]) => Results

/** The values of a call that returns not exactly one. */
export class Several {
  constructor(readonly list: readonly LuaValue[]) {}
}

export const NOTHING = new Several([])

export function severalOf(list: readonly LuaValue[]): Results {
  return list.length === 1 ? list[0] : new Several(list)
}

export function first(results: Results): LuaValue {
  return results instanceof Several ? results.list[0] : results
}

export function listOf(results: Results): readonly LuaValue[] {
  return results instanceof Several ? results.list : [results]
}

/** A list and a map, as in Lua: what is at 1, 2, 3 … stands in `list`. */
export class LuaTable {
  readonly list: LuaValue[] = []
  private others: Map<LuaValue, LuaValue> | null = null
  /** Refused are all changes by scripts: Redis's own tables. The error that they get. */
  locked: string | null = null
  /** The error for what is not there; null: nil is answered. */
  missing: ((key: LuaValue) => string) | null = null

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key >= 1 && key <= this.list.length) {
      // A fraction between has no place in the list.
      return Number.isInteger(key) ? this.list[key - 1] : this.others?.get(key)
    }
    return this.others?.get(key)
  }

  set(key: LuaValue, value: LuaValue): void {
    if (typeof key === 'number' && key >= 1 && key <= this.list.length + 1 && Number.isInteger(key)) {
      this.setInList(key, value)
    } else if (value !== undefined) {
      this.others ??= new Map()
      this.others.set(key, value)
    } else {
      this.others?.delete(key)
    }
  }

  private setInList(place: number, value: LuaValue): void {
    const { list, others } = this
    if (value === undefined) {
      if (place <= list.length) {
        list[place - 1] = undefined
      }
      while (list.length > 0 && list.at(-1) === undefined) {
        list.pop()
      }
      others?.delete(place)
      return
    }
    list[place - 1] = value
    if (others) {
      others.delete(place)
      for (let next = list.length + 1; others.has(next); next += 1) {
        list.push(others.get(next))
        others.delete(next)
      }
    }
  }

  /** The length `#`: as in Lua, one of the places behind which nothing stands, found by halves where the last one is empty. */
  get length(): number {
    const { list } = this
    if (list.length === 0 || list.at(-1) !== undefined) {
      return list.length
    }
    let [full, empty] = [0, list.length]
    while (empty - full > 1) {
      const middle = Math.floor((full + empty) / 2)
      if (list[middle - 1] === undefined) {
        empty = middle
      } else {
        full = middle
      }
    }
    return full
  }

  /** Keys and values, in an order that the same changes always give. */
  *entries(): Generator<[LuaValue, LuaValue]> {
    for (let i = 0; i < this.list.length; i += 1) {
      if (this.list[i] !== undefined) {
        yield [i + 1, this.list[i]]
      }
    }
    if (this.others) {
      yield* this.others
    }
  }

  /** In a list in braces nil has a place too. */
  static of(list: readonly LuaValue[]): LuaTable {
    const table = new LuaTable()
    list.forEach((value) => table.list.push(value))
    return table
  }

  static from(record: Readonly<Record<string, LuaValue>>): LuaTable {
    const table = new LuaTable()
    for (const [key, value] of Object.entries(record)) {
      table.set(key, value)
    }
    return table
  }
}

/** The error that `error` raises, and every failure of a script. */
export class LuaError extends Error {
  constructor(
    readonly value: LuaValue,
    /** Where it was raised. */
    readonly line: number,
  ) {
    super(typeof value === 'string' ? value : 'a Lua error that is no text')
    this.name = 'LuaError'
  }
}

/** Where the script is: calls write it, so that a function of ours can name the line in its error. */
export const position = { line: 0 }

/** JSON's null, which is a value, but neither of the others. */
export const JSON_NULL = new LuaTable()

/** Raises what Lua raises itself: a text behind the line. */
export function raise(what: string, line = position.line): never {
  throw new LuaError(line === 0 ? what : `user_script:${line}: ${what}`, line)
}

export function typeOf(value: LuaValue): string {
  if (value === undefined) {
    return 'nil'
  }
  return value === JSON_NULL ? 'userdata' : value instanceof LuaTable ? 'table' : typeof value
}
