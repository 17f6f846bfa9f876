import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Dialect, LocalLinter } from 'harper.js'
import { binary } from 'harper.js/binary'

// Those of Harper's rules that find mistakes and nothing else here. The others are of style, or take a term for a mistake.
const RULES = [
  'AnA',
  'AnAnother',
  'CommaFixes',
  'ComprisesOf',
  'CorrectNumberSuffix',
  'DefiniteArticle',
  'DespiteOf',
  'DidPast',
  'DoMistake',
  'DoubleModal',
  'EachOthersPossessive',
  'ExceptOf',
  'ExtendOrExtent',
  'FeelFell',
  'HaveNegNoAny',
  'InflectedVerbAfterTo',
  'LetsConfusion',
  'LongSentences',
  'LookForwardTo',
  'ModalOf',
  'NotBeAfterNot',
  'PluralWrongWordOfPhrase',
  'PossessiveYour',
  'RepeatedWords',
  'SinceDuration',
  'SpellCheck',
  'SubjectPronoun',
  'TheAnother',
  'ThereIsAgreement',
  'TheTheToThatThe',
  'ToTo',
  'UseToUsedTo',
  'WasComprisedOf',
  'WereWhere',
  'WorthToDo',
]
const MOST_WORDS = 60

const WORDS = fileURLToPath(new URL('words.txt', import.meta.url))

/** Terms and names that no dictionary has; one in each line. */
const listedWords = () => new Set(readFileSync(WORDS, 'utf8').split('\n').filter(Boolean))

/**
 * Finds mistakes in pages.
 *
 * @param {Set<string>} names what the sources call things, in lower case: no typing errors
 */
export const proseLinter = async (names) => {
  const listed = listedWords()
  const linter = new LocalLinter({ binary, dialect: Dialect.British })
  const rules = Object.fromEntries(Object.keys(await linter.getLintConfig()).map((rule) => [rule, false]))
  for (const rule of RULES) {
    if (!(rule in rules))
      throw new Error(`Harper has no rule ${rule}: look for its new name, or take it off the list`)
    rules[rule] = true
  }
  await linter.setLintConfig(rules)

  const isKnown = (word) => {
    const stem = word.replace(/\.$|[’']s?$/, '')
    // Units and names of one letter or two.
    return (
      stem.length < 3 ||
      /\d/.test(word) ||
      [word, stem].some((each) => listed.has(each) || names.has(each.toLowerCase()))
    )
  }
  const isMistake = (rule, found, message) => {
    if (rule === 'SpellCheck') return !isKnown(found)
    // One who is called A.
    if (rule === 'AnA') return found !== 'A'
    if (rule === 'LongSentences') return Number(/\d+/.exec(message)?.[0]) > MOST_WORDS
    return true
  }

  return {
    /** @returns {Promise<{ line: number, rule: string, message: string, text: string }[]>} */
    async findIn(page) {
      const text = prosePart(page)
      const found = await linter.organizedLints(text, { language: 'markdown' })
      const all = Object.entries(found).flatMap(([rule, lints]) =>
        lints.map((lint) => {
          const { start, end } = lint.span()
          return { rule, start, message: lint.message(), text: [...text].slice(start, end).join('') }
        }),
      )
      return all
        .filter(({ rule, text: word, message }) => isMistake(rule, word, message))
        .sort((a, b) => a.start - b.start)
        .map(({ rule, start, message, text: word }) => {
          const line = [...text].slice(0, start).join('').split('\n').length
          return { line, rule, message, text: word.replaceAll(/\s+/g, ' ') }
        })
    },
    close: () => linter.dispose?.(),
  }
}

/** Names of tests are no sentences: their lines stay empty, so that the numbers of others stay. */
const prosePart = (page) => page.replaceAll(/^- `packages\/\S+`: .*$/gm, '')
