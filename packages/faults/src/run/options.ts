import { InvalidArgumentError, Option } from 'commander'

/** One option of a scenario: what the help says, its default, and how a text becomes its value. */
export interface OptionSpec<T> {
  readonly help: string
  readonly default: T
  /** How the help names the default; absent: as it is. */
  readonly defaultText?: string
  /** How the help names the value; absent: a flag. */
  readonly value?: string
  parse?(text: string): T
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- each option has a type of its own
export type OptionSpecs = Readonly<Record<string, OptionSpec<any>>>

export type OptionValues<S extends OptionSpecs> = {
  readonly [K in keyof S]: S[K] extends OptionSpec<infer T> ? T : never
}

const MOST = 999_999_999

const numberOf = (text: string, least: number, most: number): number => {
  const number = Number(text)
  if (text.trim() === '' || !(number >= least && number <= most)) {
    throw new InvalidArgumentError(`It takes a number from ${least} to ${most}.`)
  }
  return number
}

/** A whole number. */
export const count = (value: number, help: string, { least = 1, most = MOST } = {}): OptionSpec<number> => ({
  help,
  default: value,
  value: 'N',
  parse: (text) => {
    const number = numberOf(text, least, most)
    if (!Number.isInteger(number)) throw new InvalidArgumentError('It takes a whole number.')
    return number
  },
})

/** Whole numbers, separated by commas. */
export const someNumbers = (
  values: readonly number[],
  help: string,
  { least = 1 } = {},
): OptionSpec<readonly number[]> => ({
  help: `${help}, separated by commas`,
  default: values,
  defaultText: values.join(),
  value: 'LIST',
  parse: (text) => text.split(',').map((part) => count(0, '', { least }).parse?.(part.trim()) ?? 0),
})

/** Milliseconds. */
export const ms = (value: number, help: string, { least = 0, most = MOST } = {}): OptionSpec<number> => ({
  ...count(value, help, { least, most }),
  value: 'MS',
})

/** Minutes; parts of a minute are fine. */
export const minutes = (value: number, help: string): OptionSpec<number> => ({
  help,
  default: value,
  value: 'M',
  parse: (text) => numberOf(text, 0.01, 1_440),
})

/** Any text. @param absent how the help names what is meant without it */
export const text = (help: string, absent = 'none'): OptionSpec<string> => ({
  help,
  default: '',
  defaultText: absent,
  value: 'TEXT',
  parse: (given) => given,
})

export const flag = (help: string): OptionSpec<boolean> => ({ help, default: false })

export const oneOf = <const T extends string>(names: readonly T[], help: string): OptionSpec<T> => ({
  help: `${help}: ${names.join(', ')}`,
  default: names[0] as T,
  value: 'NAME',
  parse: (text) => {
    const name = names.find((each) => each === text)
    if (name === undefined) throw new InvalidArgumentError(`It takes ${names.join(' or ')}.`)
    return name
  },
})

/** Some of the names, separated by commas. @param all what `all` means, which is the default; absent: every name */
export const someOf = <const T extends string>(
  names: readonly T[],
  help: string,
  { mayBeNone = false, all = names }: { mayBeNone?: boolean; all?: readonly NoInfer<T>[] } = {},
): OptionSpec<readonly T[]> => ({
  help: `${help}, separated by commas, 'all'${mayBeNone ? " or 'none'" : ''}: ${names.join(', ')}`,
  default: all,
  defaultText: 'all',
  value: 'LIST',
  parse: (text) => {
    if (text === 'all') return all
    if (text === 'none' && mayBeNone) return []
    return text.split(',').map((part) => {
      const name = names.find((each) => each === part.trim())
      if (name === undefined)
        throw new InvalidArgumentError(`It knows no '${part}', only ${names.join(', ')}.`)
      return name
    })
  },
})

/** The options of a scenario without arguments. */
export const defaultsOf = <S extends OptionSpecs>(specs: S): OptionValues<S> =>
  Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, spec.default as unknown]),
  ) as OptionValues<S>

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** An option of the command line. */
export const optionOf = (name: string, spec: OptionSpec<unknown>): Option => {
  const flags = spec.value === undefined ? `--${kebab(name)}` : `--${kebab(name)} <${spec.value}>`
  const option = new Option(flags, spec.help)
  if (spec.parse) option.argParser((text) => spec.parse?.(text))
  return option.default(spec.default, spec.defaultText)
}
