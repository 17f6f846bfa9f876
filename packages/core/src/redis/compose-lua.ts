type ScriptName<N extends string> = Exclude<N, `${string}.part`>

/**
 * The scripts among these texts, each put together when it is first read: a process sends few of them.
 *
 * `-- insert NAME` becomes the text of NAME.part: local functions that several scripts share. `-- include NAME`, in a
 * table of transitions, becomes the script as a function of its KEYS and ARGV. What is included may include in turn;
 * everything reads its own parameters, never those of the script around it.
 */
export function composed<N extends string>(
  texts: Readonly<Record<N, string>>,
): Readonly<Record<ScriptName<N>, string>> {
  const scripts = {} as Record<ScriptName<N>, string>
  for (const name of Object.keys(texts)) {
    if (!name.endsWith('.part')) {
      // Who looks on at Redis sees which script it is.
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
