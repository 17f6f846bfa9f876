import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Files of the repository, above all its pages. All paths are relative to its root.

export const root = fileURLToPath(new URL('../../../../../', import.meta.url))

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** Files below a folder, without what is installed, built or hidden. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) {
      return [path]
    }
    return /^(node_modules|dist|build|coverage|\..*)$/.test(entry.name) ? [] : filesBelow(path)
  })
}

export const pages = filesBelow('.').filter((file) => file.endsWith('.md'))

/** The text below a heading, up to the next one of its level or above. */
export function section(file: string, heading: string): string {
  const lines = read(file).split('\n')
  const start = lines.findIndex((line) => line.startsWith('#') && line.replace(/^#+ /, '') === heading)
  if (start < 0) {
    throw new Error(`${file} has no heading "${heading}".`)
  }
  const level = lines[start]!.indexOf(' ')
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level)
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join('\n')
}

/** The rows of the tables in a text, without their heads; cells without backticks. */
export function rows(text: string): string[][] {
  const cells = text.split('\n').map((line) =>
    line.startsWith('|')
      ? line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim().replaceAll('`', ''))
      : null,
  )
  const isRule = (row: string[] | null | undefined): boolean =>
    row?.every((cell) => /^-+$/.test(cell)) ?? false
  return cells.filter((row, i): row is string[] => row !== null && !isRule(row) && !isRule(cells[i + 1]))
}

/** A fenced block of JavaScript or TypeScript. */
export interface CodeBlock {
  readonly file: string
  /** Heading above it, and its number there where there are several: "Contexts", "Install 2". */
  readonly title: string
  readonly language: string
  /** The text behind the language, such as `no-run`. */
  readonly mark: string
  readonly code: string
}

export function codeBlocks(file: string): CodeBlock[] {
  const blocks: CodeBlock[] = []
  let heading = ''
  for (const [, title, info, code = ''] of read(file).matchAll(/^#+ (.+)$|^```(.*)\n([^]*?)^```$/gm)) {
    const [language = '', mark = ''] = (info ?? '').split(' ')
    if (title !== undefined) {
      heading = title
    } else if (/^(js|ts|javascript|typescript|mjs)$/.test(language)) {
      const earlier = blocks.filter((block) => block.title.replace(/ \d+$/, '') === heading).length
      const number = earlier === 0 ? '' : ` ${earlier + 1}`
      blocks.push({ file, title: `${heading}${number}`, language, mark, code })
    }
  }
  return blocks
}

/**
 * The programs of a page. A block without an import goes on from the page's first program: it stands in the
 * place of what that one does between making its lock and closing its client.
 */
export function programs(file: string): CodeBlock[] {
  const blocks = codeBlocks(file).filter(({ mark }) => mark !== 'no-run')
  const [head = '', tail = ''] = blocks[0]?.code.split(/(?<=getLock\(.*\)\n)[^]*(?=await locks\.close)/) ?? []
  return blocks.map((block) =>
    /^import /m.test(block.code) ? block : { ...block, code: `${head}${block.code}${tail}` },
  )
}
