import { describe, expect, it } from '@jest/globals'

interface Places {
  readonly page: (file: string) => string | undefined
  readonly picture: (file: string) => string
  readonly source: (file: string) => string
}

// Not strings of their own: whoever compiles this has no types of them.
const markdown = new URL('../../../../scripts/site/markdown.mjs', import.meta.url).href
const { asPageOfSite } = (await import(markdown)) as {
  asPageOfSite: (text: string, file: string, places: Places) => string
}
const slugs = new URL('../../../../scripts/site/slug.mjs', import.meta.url).href
const { slug } = (await import(slugs)) as { slug: (heading: string) => string }

const PAGES: Record<string, string> = {
  'docs/errors.md': '/guide/errors.md',
  'docs/decisions': '/internals/decisions/index.md',
  'packages/otel': '/guide/packages/otel.md',
}
const places: Places = {
  page: (file) => PAGES[file],
  picture: (file) => `/pictures/${file}`,
  source: (file) => `\`${file}\``,
}
const onSite = (text: string, file = 'docs/page.md'): string => asPageOfSite(text, file, places)

describe('a page of the repository on the site', () => {
  it('links to the addresses of other pages, with their anchors', () => {
    expect(onSite('[errors](errors.md#codes), [here](#there), [`all`](decisions/)')).toBe(
      '[errors](/guide/errors.md#codes), [here](#there), [`all`](/internals/decisions/index.md)',
    )
    expect(onSite('[OTel](../packages/otel)')).toBe('[OTel](/guide/packages/otel.md)')
    expect(onSite('[errors](../../docs/errors.md)', 'packages/otel/README.md')).toBe(
      '[errors](/guide/errors.md)',
    )
    expect(onSite('[npm](https://www.npmjs.com/package/redis)')).toBe(
      '[npm](https://www.npmjs.com/package/redis)',
    )
  })

  it('says the path of a file that is no page', () => {
    expect(onSite('[page.mjs](../scripts/page.mjs)')).toBe('`scripts/page.mjs`')
    expect(onSite('[`page.mjs`](../scripts/page.mjs)')).toBe('`scripts/page.mjs`')
    expect(onSite('[the script](../scripts/page.mjs)')).toBe('the script (`scripts/page.mjs`)')
  })

  it('has its pictures, in Markdown, in tags and inside of links', () => {
    expect(onSite('![who](images/who.png)')).toBe('![who](/pictures/docs/images/who.png)')
    expect(onSite('[![who](images/who.png)](errors.md)')).toBe(
      '[![who](/pictures/docs/images/who.png)](/guide/errors.md)',
    )
    expect(onSite('<img alt="who" src="images/who.png">')).toBe(
      '<img alt="who" src="/pictures/docs/images/who.png">',
    )
  })

  it('has brackets as text where they are no tags, and loses comments', () => {
    expect(onSite('a <name> of List<string>, 1 < 2, <https://redis.io>')).toBe(
      'a &lt;name> of List&lt;string>, 1 &lt; 2, <https://redis.io>',
    )
    expect(onSite('say {{ name }}')).toBe('say <span v-pre>{{</span> name <span v-pre>}}</span>')
    expect(onSite('<!-- figures -->\ntext')).toBe('text')
  })

  it.each(['`[a](b.md) <name> {{ x }} <!-- y -->`', '``a ` [b](c)``', '```js\n[a](b) <T>\n```'])(
    'leaves code as it is: %j',
    (code) => {
      expect(onSite(`text\n\n${code}\n\ntext`)).toBe(`text\n\n${code}\n\ntext`)
    },
  )
})

describe('the anchor of a heading', () => {
  it.each([
    ["Redisson's face", 'redissons-face'],
    ['I1: one owner, at most', 'i1-one-owner-at-most'],
    ['`run` — a command', 'run--a-command'],
    ['Größe_1', 'größe_1'],
  ])('%j is %s, as on GitHub', (heading, anchor) => {
    expect(slug(heading.replaceAll('`', ''))).toBe(anchor)
  })
})
