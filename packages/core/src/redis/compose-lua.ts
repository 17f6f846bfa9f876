type Texts = Readonly<Record<string, string>>
type ScriptName<N extends string> = Exclude<N, `${string}.part`>

/**
 * The scripts among these texts, each composed on first use: a process sends few of them.
 *
 * `-- insert NAME` becomes the text of NAME.part: local functions that several scripts share. `-- include NAME` becomes
 * a local function of KEYS and ARGV that runs the script of that name (`lock/acquire` is `acquireLock`). What stands
 * above such a line in scope already is not repeated. Everything reads its own parameters, never those of the script
 * around it.
 *
 * In a batch, `-- transitions NAME...` becomes the table of these scripts by name, with the parts that they alone use
 * above it; `-- shared` becomes the parts that more than one such table uses. So a part is there once, whatever uses it.
 */
export function composed<N extends string>(
  texts: Readonly<Record<N, string>>,
): Readonly<Record<ScriptName<N>, string>> {
  const scripts = {} as Record<ScriptName<N>, string>
  for (const name of Object.keys(texts)) {
    if (!name.endsWith('.part')) {
      // Names the script for operators who look at Redis (MONITOR, SLOWLOG).
      Object.defineProperty(scripts, name, {
        enumerable: true,
        get: () => `-- Holdfast: ${name}\n${compose(texts, name, new Set())}`,
      })
    }
  }
  return scripts
}

const DIRECTIVE = /^-- (insert|include|transitions|shared)((?: [\w/-]+)*)\n/gm

/** @param inScope names of the texts that stand above this one already; those that it brings are added */
function compose(texts: Texts, name: string, inScope: Set<string>): string {
  const text = texts[name] as string
  return text.replaceAll(DIRECTIVE, (_, directive: string, behind: string) => {
    const names = behind.trim().split(' ')
    switch (directive) {
      case 'insert':
        return once(texts, `${names[0]}.part`, inScope)
      case 'include':
        return once(texts, names[0] as string, inScope)
      case 'shared':
        return sharedParts(texts, text)
          .map((part) => once(texts, part, inScope))
          .join('')
      default:
        return transitions(texts, names, new Set(inScope))
    }
  })
}

function once(texts: Texts, name: string, inScope: Set<string>): string {
  if (inScope.has(name)) {
    return ''
  }
  inScope.add(name)
  return name.endsWith('.part')
    ? compose(texts, name, inScope)
    : `local function ${functionName(name)}(KEYS, ARGV)\n${compose(texts, name, new Set(inScope))}end\n`
}

/** `fair-lock/acquire` is `acquireFairLock`. */
function functionName(script: string): string {
  const [object, verb] = script.split('/') as [string, string]
  return `${verb}-${object}`.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

function transitions(texts: Texts, names: readonly string[], inScope: Set<string>): string {
  const parts = partsOf(texts, names).map((part) => once(texts, part, inScope))
  const functions = names.map((name) => once(texts, name, inScope))
  const entries = names.map((name) => `['${name}'] = ${functionName(name)},\n`)
  return `${parts.join('')}${functions.join('')}return {\n${entries.join('')}}\n`
}

/** All parts that these scripts insert, directly or not. */
function partsOf(texts: Texts, names: readonly string[]): string[] {
  const found = new Set<string>()
  for (const name of names) {
    for (const [, directive, behind] of (texts[name] as string).matchAll(DIRECTIVE)) {
      const other = (behind as string).trim()
      const used = directive === 'insert' ? `${other}.part` : other
      for (const part of partsOf(texts, [used])) {
        found.add(part)
      }
      if (directive === 'insert') {
        found.add(used)
      }
    }
  }
  return [...found]
}

function sharedParts(texts: Texts, batch: string): string[] {
  const uses = [...batch.matchAll(/^-- transitions (.*)\n/gm)].map(([, names]) =>
    partsOf(texts, (names as string).split(' ')),
  )
  return uses.flat().filter((part, i, all) => all.indexOf(part) !== i)
}
