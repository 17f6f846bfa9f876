import { existsSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { asOnGitHub } from './markdown.mjs'
import { siteAddress, sidebarsOf } from './pages.mjs'
import { slug } from './slug.mjs'

const file = (path) => new URL(`../../${path}`, import.meta.url)
const { description } = JSON.parse(readFileSync(file('package.json'), 'utf8'))
const icon = readFileSync(file('packages/board/page/icon.svg')).toString('base64')
// `npm run docs` writes it.
const entries = existsSync(file('build/reference/entries.json'))
  ? JSON.parse(readFileSync(file('build/reference/entries.json'), 'utf8'))
  : []
const sidebar = sidebarsOf(entries)

/** Pages of the guide come before the decisions and the reference that use the same words. It travels to the browser. */
const boostDocument = (id) => (id.startsWith('/guide/') ? 2 : 1)

const firstOf = (section) => sidebar[section][0].items[0].link
const sections = { Guide: '/guide/', Reference: '/reference/', Internals: '/internals/' }

export default defineConfig({
  lang: 'en',
  title: 'Holdfast',
  description,
  // Pages stay where they are: GitHub, npm and editors show them there.
  srcDir: '..',
  srcExclude: ['etc/**', 'coverage/**', '.*/**', 'build/!(reference)/**', 'packages/*/{skills,test}/**'],
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  rewrites: siteAddress,
  // One file has what the sidebars say, not each page.
  metaChunk: true,
  vite: {
    publicDir: false,
    // The index of the search is one file of some size, which is loaded when somebody searches.
    build: { chunkSizeWarningLimit: 3_000 },
  },
  // Reports of programs that a reader has started.
  ignoreDeadLinks: 'localhostLinks',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `data:image/svg+xml;base64,${icon}` }]],
  markdown: {
    anchor: { slugify: slug },
    attrs: { disable: true },
    // A name such as `main.mjs` or `acl.md` is no address.
    linkify: false,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => asOnGitHub(md.disable('emoji')),
  },
  themeConfig: {
    nav: Object.entries(sections).map(([text, path]) => ({
      ...{ text, link: firstOf(path), activeMatch: `^${path}` },
    })),
    sidebar,
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        // The name of the button is what it shows, its keys too.
        translations: { button: { buttonAriaLabel: '' } },
        miniSearch: { searchOptions: { boostDocument } },
      },
    },
    docFooter: { prev: 'Before', next: 'Next' },
  },
})
