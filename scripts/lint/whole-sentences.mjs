// Rules of ESLint for texts that are read alone: a comment in an editor's hover, the name of a test that failed.

/** A comment must not begin with what needs a neighbour to be understood. */
const comments = {
  meta: { type: 'problem', schema: [] },
  create: (context) => ({
    Program: () => {
      const all = context.sourceCode.getAllComments()
      for (const [i, { type, value, loc }] of all.entries()) {
        const before = all[i - 1]
        const goesOn =
          type === 'Line' && before?.type === 'Line' && before.loc.end.line === loc.start.line - 1
        const [, word] = /^\*?\s*(Of|What|As)\b/.exec(value) ?? []
        if (word && !goesOn) {
          context.report({
            loc,
            message: `A comment that begins with "${word}" cannot be read alone: say its subject.`,
          })
        }
      }
    },
  }),
}

const TESTS = new Set(['it', 'test', 'itAtOnce', 'describe'])
const HALF = /^(of|which|who|whose|whom|and|but|or|nor|that|because|so) /

const rootOf = (callee) =>
  callee.name ?? (callee.object && rootOf(callee.object)) ?? rootOf(callee.callee ?? callee.tag)

/** The name of a test is a sentence about what a user or Redis sees, not the other half of its `describe`. */
const testNames = {
  meta: { type: 'problem', schema: [] },
  create: (context) => ({
    CallExpression: ({ callee, arguments: [first] }) => {
      const text = first?.type === 'TemplateLiteral' ? first.quasis[0].value.raw : first?.value
      const [, word] = HALF.exec(typeof text === 'string' ? text : '') ?? []
      if (word && TESTS.has(rootOf(callee))) {
        context.report({
          node: first,
          message: `A test's name that begins with "${word}" is half of a sentence.`,
        })
      }
    },
  }),
}

export const wholeSentences = { rules: { comments, 'test-names': testNames } }
