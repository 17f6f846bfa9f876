type ScriptName<N extends string> = Exclude<N, `${string}.part`>

/**
 * The scripts among these texts, each composed on first use: a process sends few of them.
 *
 * `-- insert NAME` is replaced by the text of NAME.part: local functions that several scripts share. `-- include
 * NAME`, in a table of transitions, is replaced by that script as a function of its KEYS and ARGV. Included scripts
 * may include others; each reads its own parameters, never those of the enclosing script.
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
        get: () => `-- Holdfast: ${name}\n${compose(texts, name)}`,
      })
    }
  }
  return scripts
}

function compose(texts: Readonly<Record<string, string>>, name: string): string {
  return (texts[name] as string).replaceAll(
    /^-- (insert|include) (\S+)\n/gm,
    (_, how: string, other: string) =>
      how === 'insert'
        ? compose(texts, `${other}.part`)
        : `['${other}'] = { run = function(KEYS, ARGV)\n${compose(texts, other)}end },\n`,
  )
}
