import { describe, expect, it } from '@jest/globals'
import MarkdownIt from 'markdown-it'
import { join } from 'node:path'
import { root } from '../redis/support/markdown.js'

// Not strings of their own: whoever compiles this has no types of them.
const markdown = new URL('../../../../docs/.vitepress/markdown.mjs', import.meta.url).href
const { asOnGitHub } = (await import(markdown)) as { asOnGitHub: (md: MarkdownIt) => void }
const slugs = new URL('../../../../docs/.vitepress/slug.mjs', import.meta.url).href
const { slug } = (await import(slugs)) as { slug: (heading: string) => string }

const md = new MarkdownIt({ html: true })
asOnGitHub(md)
const onSite = (text: string, file = 'docs/page.md'): string =>
  md.renderInline(text, { path: join(root, file) })
const hrefsIn = (html: string): string[] => [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href!)

describe('a page of the repository on the site', () => {
  it('links to the addresses of other pages, with their anchors', () => {
    expect(hrefsIn(onSite('[errors](errors.md#codes), [here](#there), [`all`](decisions/)'))).toEqual([
      '/guide/errors.md#codes',
      '#there',
      '/internals/decisions/0001-packages-and-arrows.md',
    ])
    expect(hrefsIn(onSite('[OTel](../packages/otel)'))).toEqual(['/guide/packages/otel/index.md'])
    expect(hrefsIn(onSite('[errors](../../docs/errors.md)', 'packages/otel/README.md'))).toEqual([
      '/guide/errors.md',
    ])
    expect(hrefsIn(onSite('[npm](https://www.npmjs.com/package/redis)'))).toEqual([
      'https://www.npmjs.com/package/redis',
    ])
  })

  it('says the path of a file that is no page, and refuses one that is missing', () => {
    expect(onSite('[the script](../scripts/build.mjs)')).toBe(
      '<span title="scripts/build.mjs">the script</span>',
    )
    expect(() => onSite('[page](nothing.md)')).toThrow('docs/page.md links to nothing.md, which is missing')
  })

  it('has brackets as text where they are no tags, and loses comments', () => {
    expect(onSite('a <name> of List<string>, 1 < 2')).toBe('a &lt;name&gt; of List&lt;string&gt;, 1 &lt; 2')
    expect(onSite('say {{ name }}')).toBe('say &#123;&#123; name }}')
    expect(onSite('<!-- figures -->text')).toBe('text')
  })

  it('leaves code as it is', () => {
    expect(onSite('`[a](b.md) <!-- y -->`')).toBe('<code>[a](b.md) &lt;!-- y --&gt;</code>')
  })
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
