type Texts = Readonly<Record<string, string>>
type ScriptName<N extends string> = Exclude<N, `${string}.part`>

/**
 * The scripts among these texts, each composed on first use: a process sends few of them.
 * `others` are texts that they may take in besides their own: an entry has those of core.
 *
 * `-- insert NAME` is replaced by the text of NAME.part: local functions that several scripts share. `-- include
 * NAME` is replaced by a local function of KEYS and ARGV that runs the script of that name (`lock/acquire` becomes
 * `acquireLock`). Text already in scope above such a line is not repeated. Every script reads its own parameters,
 * never those of the enclosing script.
 *
 * In a batch, `-- transitions NAME...` is replaced by the table of these scripts by name, below the parts that only
 * they use; `-- shared` by the parts that several such tables use. So each part occurs once.
 */
export function composed<N extends string>(
  own: Readonly<Record<N, string>>,
  others: Texts = {},
): Readonly<Record<ScriptName<N>, string>> {
  const texts: Texts = { ...others, ...own }
  const scripts = {} as Record<ScriptName<N>, string>
  for (const name of Object.keys(own)) {
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

/** @param inScope names of the texts already above this one; the texts it adds are recorded there */
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

/** All parts that these scripts insert, directly or indirectly. */
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
