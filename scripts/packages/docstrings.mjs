import { readFileSync } from 'node:fs'
import ts from 'typescript'

// Beside the classes of errors that the packages declare. ReplyError is what ioredis calls an answer that is an error.
const ERRORS_OF_OTHERS = ['Error', 'TypeError', 'RangeError', 'ReplyError']
/** Words that end as a verb does, and begin a sentence that does not say what the call does. */
const NO_VERBS = 'Always|As|Its|Levels|Locks|Options|Permits|Redis|This|Thus'
const SAYS_WHAT_IT_DOES = new RegExp(`^(?!(?:${NO_VERBS})\\b)(?:Never )?[A-Z][a-z]*s\\b`)
/** A method that the caller brings says when it is called. */
const SAYS_WHEN_IT_IS_CALLED = /^Called\b/
const LONGEST_FIRST_LINE = 160
/** A type may say it of all its calls. */
const ALL_REJECT = /\b[Ee]very (?:call|method) rejects\b/
const SAYS_DEFAULT_WAIT = /default|without a limit|one attempt|once|at once|(?:like|as|see) `/i

/**
 * @typedef {object} Declared what one file of declarations exports
 * @property {string} place for messages, as in `@holdfast/core/http`
 * @property {Map<string, ts.Statement[]>} all every declaration by its name, overloads in their order
 * @property {Set<string>} exported their names
 * @property {ts.SourceFile} source
 */

/**
 * @param {string} file of declarations, rolled up
 * @param {string} place
 * @returns {Declared}
 */
export const declaredIn = (file, place) => {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const [all, exported] = [new Map(), new Set()]
  const add = (name, node) => all.set(name, [...(all.get(name) ?? []), node])
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement)) {
      for (const each of statement.declarationList.declarations) add(each.name.getText(source), statement)
    } else if (ts.isExportDeclaration(statement)) {
      for (const each of statement.exportClause?.elements ?? [])
        exported.add((each.propertyName ?? each.name).text)
    } else if (statement.name) add(statement.name.text, statement)
  }
  return { place, all, exported, source }
}

/**
 * Faults of the form of the docstrings of an API: one line for each fault.
 *
 * @param {Declared} declared
 * @param {Declared[]} everywhere what the docstrings may mention
 * @returns {string[]}
 */
export const docstringFaults = (declared, everywhere) => {
  const known = new Known(everywhere)
  return [...declared.exported].sort().flatMap((name) => {
    const nodes = declared.all.get(name)
    // A type of another package, which declares it.
    if (nodes === undefined) return []
    return partsOf(declared, name, nodes).flatMap((part) =>
      faultsOf(part, known).map((fault) => `${declared.place}: ${part.name}: ${fault}`),
    )
  })
}

/**
 * @typedef {object} Part a declaration or a member of one
 * @property {string} name
 * @property {Docstring | undefined} doc its own, or that of what it overrides
 * @property {ts.SignatureDeclaration[]} calls its overloads; none: it is no call
 * @property {string} around the docstring of the type whose member it is
 */

/** @returns {Part[]} */
const partsOf = (declared, name, nodes) => {
  const [node] = nodes
  const own = docOf(nodes)
  if (ts.isVariableStatement(node)) {
    const { type } = node.declarationList.declarations.find((each) => each.name.getText() === name)
    const calls = type && ts.isFunctionTypeNode(type) ? [type] : []
    return [{ name, doc: own, calls, around: '' }]
  }
  const calls = nodes.filter(ts.isFunctionDeclaration)
  const whole = { name, doc: own, calls, around: '' }
  // Types of other libraries: their pages document the members.
  const isOfOthers = ts.isInterfaceDeclaration(node) && /\bused here\b/.test(own?.text ?? '')
  return isOfOthers ? [whole] : [whole, ...membersOf(declared, name, nodes)]
}

const membersOf = (declared, name, nodes) => {
  const members = new Map()
  for (const each of nodes.flatMap((node) => [...(node.members ?? [])])) {
    const isPublic = !each.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
    const member = nameOf(each)
    if (isPublic && member !== undefined) members.set(member, [...(members.get(member) ?? []), each])
  }
  const isError = /Error$/.test(name)
  return [...members].flatMap(([member, overloads]) => {
    // Users catch errors, and make none.
    if (member === 'constructor' && isError) return []
    const calls = overloads.filter((each) => !ts.isGetAccessor(each))
    const doc = docOf(overloads) ?? inheritedDoc(declared, nodes, member)
    return [{ name: `${name}.${member}`, doc, calls, around: docOf(nodes)?.text ?? '' }]
  })
}

const nameOf = (member) => {
  if (ts.isConstructorDeclaration(member)) return 'constructor'
  const isChecked = ts.isMethodDeclaration(member) || ts.isMethodSignature(member) || ts.isGetAccessor(member)
  return isChecked ? member.name.getText() : undefined
}

const isPropertyNamed = (node, name) =>
  (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)) && node.name.getText() === name

/** An editor shows the docstring of what is overridden or implemented, where there is no other: a getter's is a property's. */
const inheritedDoc = (declared, nodes, member) => {
  for (const { heritageClauses } of nodes) {
    for (const { types } of heritageClauses ?? []) {
      for (const { expression } of types) {
        const base = declared.all.get(expression.getText()) ?? []
        const same = base
          .flatMap((each) => [...(each.members ?? [])])
          .filter((each) => nameOf(each) === member || isPropertyNamed(each, member))
        const doc = docOf(same) ?? inheritedDoc(declared, base, member)
        if (doc) return doc
      }
    }
  }
  return undefined
}

/**
 * @typedef {object} Docstring
 * @property {string} text above the tags, in one line
 * @property {string[]} throws the texts of its `@throws`
 * @property {string[]} params the names of its `@param`
 * @property {string} whole
 */

/** @returns {Docstring | undefined} of the first that has one: overloads share it */
const docOf = (nodes) => {
  const comment = nodes.map((node) => node.jsDoc?.at(-1)).find((each) => each !== undefined)
  if (comment === undefined) return undefined
  const whole = comment
    .getText()
    .replaceAll(/^\/\*\*|\*\/$/g, '')
    .replaceAll(/\s*\n\s*\*?\s*/g, ' ')
    .trim()
  const [text, ...tags] = whole.split(/(?:^|\s)@(?=(?:param|returns|throws)\b)/)
  const ofKind = (kind) =>
    tags.filter((tag) => tag.startsWith(`${kind} `)).map((tag) => tag.slice(kind.length + 1))
  return {
    text: text.trim(),
    throws: ofKind('throws'),
    params: ofKind('param').map((tag) => tag.split(' ')[0]),
    whole,
  }
}

/** Names that a docstring may mention. */
class Known {
  #declarations = new Map()

  constructor(everywhere) {
    for (const { all } of everywhere) {
      for (const [name, nodes] of all) {
        this.#declarations.set(name, [...(this.#declarations.get(name) ?? []), ...nodes])
      }
    }
  }

  hasError(name) {
    return ERRORS_OF_OTHERS.includes(name) || this.#declarations.has(name)
  }

  /** False: the type is ours, and has no such member. */
  mayHave(type, member) {
    const nodes = this.#declarations.get(type)
    if (nodes === undefined) return true
    const own = nodes.some((node) =>
      new RegExp(`\\b${member}\\b`).test(node.getText().replaceAll(/\/\*[^]*?\*\//g, '')),
    )
    return (
      own || this.#bases(nodes).some((base) => this.#declarations.has(base) && this.mayHave(base, member))
    )
  }

  /** Whether options of this type say how long to wait. */
  hasWait(type) {
    const nodes = this.#declarations.get(type) ?? []
    const own = nodes.some(({ members }) => members?.some((each) => each.name?.getText() === 'waitMs'))
    return own || this.#bases(nodes).some((base) => this.hasWait(base))
  }

  #bases(nodes) {
    return nodes.flatMap((node) =>
      (node.heritageClauses ?? []).flatMap(({ types }) =>
        types.map(({ expression }) => expression.getText()),
      ),
    )
  }
}

const faultsOf = (part, known) => {
  const { doc, calls } = part
  if (doc === undefined) return ['has no docstring']
  const faults = [...mentionFaults(doc, known)]
  if (calls.length === 0) return faults
  return [
    ...faults,
    ...firstLineFaults(doc),
    ...waitFaults(part, known),
    ...errorFaults(part),
    ...paramFaults(part),
  ]
}

const firstLineFaults = ({ text }) => {
  const [first] = /^.*?[.:;](?=\s|$)|^.*$/.exec(text)
  if (first === '') return ['has no first line that says what the call does']
  if (!/[.:;]$/.test(first)) return [`the first line ends without a full stop: "${first}"`]
  if (first.length > LONGEST_FIRST_LINE)
    return [`the first line has ${first.length} characters, more than ${LONGEST_FIRST_LINE}: "${first}"`]
  const isVerb = SAYS_WHAT_IT_DOES.test(first) || SAYS_WHEN_IT_IS_CALLED.test(first)
  return isVerb
    ? []
    : [`the first line does not begin with what the call does, as in "Waits until …": "${first}"`]
}

const waitFaults = ({ doc, calls }, known) => {
  const parameters = calls.flatMap((each) => [...each.parameters])
  const waits = parameters.some(
    ({ name, type }) => name.getText() === 'waitMs' || typeNamesIn(type).some((each) => known.hasWait(each)),
  )
  if (!waits || !calls.some(returnsPromise)) return []
  const says = /\bwait|attempt|tries/i.test(doc.text) && SAYS_DEFAULT_WAIT.test(doc.whole)
  return says ? [] : ['does not say how long it waits by default']
}

const typeNamesIn = (type) => {
  const names = []
  const look = (node) => {
    // Parameters of a callback are not parameters of this call.
    if (ts.isFunctionTypeNode(node)) return
    if (ts.isTypeReferenceNode(node)) names.push(node.typeName.getText())
    ts.forEachChild(node, look)
  }
  if (type) look(type)
  return names
}

const returnsPromise = ({ type }) => type !== undefined && /^Promise</.test(type.getText())

const errorFaults = ({ doc, calls, around }) => {
  const faults = []
  const says = doc.throws.length > 0 || /\breject/i.test(doc.text) || ALL_REJECT.test(around)
  if (calls.some(returnsPromise) && !says)
    faults.push('does not say what it rejects with: @throws, or "Never rejects."')
  const inProse = /(?:^|[.;:] )(?:Throws|Rejects with) (\w+Error)/.exec(doc.text)
  if (inProse) faults.push(`says "${inProse[0].replace(/^\W+/, '')}" in its text: that is a @throws`)
  return faults
}

const paramFaults = ({ doc, calls }) => {
  const parameters = calls.flatMap((each) => each.parameters.map(({ name }) => name))
  const names = parameters.filter(ts.isIdentifier).map(({ text }) => text)
  const isTaken = parameters.some((name) => !ts.isIdentifier(name))
  return doc.params
    .map((each) => each.split('.')[0])
    .filter((each) => !names.includes(each) && !isTaken)
    .map((each) => `has a @param of ${each}, which is no parameter`)
}

const mentionFaults = ({ whole, throws }, known) => {
  const errors = throws.flatMap((each) => each.match(/\b[A-Z]\w+Error\b/g) ?? [])
  const members = [...whole.matchAll(/`([A-Z]\w+)\.(\w+)\b[^`]*`/g)]
  return [
    ...errors
      .filter((each) => !known.hasError(each))
      .map((each) => `@throws ${each}, which is no error of ours`),
    ...members
      .filter(([, type, member]) => !known.mayHave(type, member))
      .map(([, type, member]) => `mentions ${type}.${member}, which is not there`),
  ]
}
