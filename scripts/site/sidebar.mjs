/**
 * What VitePress shows above and beside the pages.
 *
 * @param {import('./pages.mjs').PageSection[]} sections
 * @param {import('./reference.mjs').EntryPages[]} entries
 */
export const navigationOf = (sections, entries) => {
  const sidebar = Object.fromEntries(sections.map(({ path, groups }) => [`/${path}/`, groups.map(groupOf)]))
  // Beside an entry of a package: what it has. All that all have would be a list of hundreds on every page.
  const packages = sidebar['/reference/']
  for (const { address } of entries) {
    sidebar[address] = [apiOf(entries, address), ...packages]
  }
  sidebar['/reference/'] = [apiOf(entries), ...packages]
  const nav = sections.map(({ title, path }) => ({
    text: title,
    link: firstOf(sidebar[`/${path}/`]),
    activeMatch: `^/${path}/`,
  }))
  return { nav, sidebar }
}

const groupOf = ({ title, pages, list }) => ({
  text: title,
  // A group that can be closed needs a link: without one, VitePress nests a button in a button.
  ...(list ? { link: addressOf(list), collapsed: true } : {}),
  items: pages.map((page) => ({ text: page.title, link: addressOf(page) })),
})

const apiOf = (entries, open) => ({
  text: 'API',
  items: [
    { text: 'All packages', link: '/reference/' },
    ...entries.map(({ name, address, members }) => ({
      text: name,
      link: address,
      ...(address === open && members.length > 0 ? { collapsed: false, items: members } : {}),
    })),
  ],
})

const firstOf = ([{ items }]) => items[0].link

/** A list of pages is the index of its folder. */
const addressOf = ({ path }) => `/${path.replace(/(?<=\/)index$/, '')}`
