// Module hooks (node:module, `register`) that change one line of one module as it is loaded.
let bug

export const initialize = (data) => {
  bug = data
}

export const load = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context)
  if (!url.endsWith(bug.file)) return loaded
  const source = String(loaded.source)
  if (!source.includes(bug.find)) throw new Error(`${bug.file} has no ${bug.find}: mend the planted bug`)
  return { ...loaded, source: source.replaceAll(bug.find, bug.replace) }
}
