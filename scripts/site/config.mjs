import { defineConfig } from 'vitepress'
import { slug } from './slug.mjs'

/**
 * How VitePress builds the site. It is called from a file that `stage.mjs` writes, with what the navigation says.
 *
 * @param {{ nav: object[], sidebar: object, description: string }} settings
 */
export const siteConfig = ({ nav, sidebar, description }) =>
  defineConfig({
    lang: 'en',
    title: 'Holdfast',
    description,
    outDir: '../site',
    // One file has what the sidebars say, not each page.
    metaChunk: true,
    // The index of the search is one file of some size, which is loaded when somebody searches.
    vite: { build: { chunkSizeWarningLimit: 3_000 } },
    // Of programs that a reader has started.
    ignoreDeadLinks: 'localhostLinks',
    head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/icon.svg' }]],
    // The pages of the repository were written without it, and say what they mean.
    markdown: {
      anchor: { slugify: slug },
      attrs: { disable: true },
      // A name such as `main.mjs` or `acl.md` is no address.
      linkify: false,
      theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
      config: (md) => void md.disable('emoji'),
    },
    themeConfig: {
      nav,
      sidebar,
      outline: { level: [2, 3] },
      search: {
        provider: 'local',
        options: { translations, miniSearch: { searchOptions: { boostDocument } } },
      },
      docFooter: { prev: 'Before', next: 'Next' },
    },
  })

/** Pages of the guide come before the decisions and the reference that use the same words. It travels to the browser. */
const boostDocument = (id) => (id.startsWith('/guide/') ? 2 : 1)

// The name of the button is what it shows, its keys too.
const translations = { button: { buttonAriaLabel: '' } }
