import { DIGESTS, SCRIPTS } from './scripts.mjs'

/** Scripts by their digest, which stands for them, and by their text. */
const NAMES = new Map([
  ...Object.entries(DIGESTS).map(([name, digest]) => [digest, `digest of ${name}`]),
  ...Object.entries(SCRIPTS).map(([name, text]) => [text, `text of ${name}`]),
])
const LONGEST = 2_000

const quoted = (text) =>
  /^[\w:~.*+-]+$/.test(text)
    ? text
    : `"${text.replace(/[\\"]/g, '\\$&').replace(/[^ -~]/g, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)}"`

const wordText = (word) =>
  typeof word === 'string'
    ? quoted(word)
    : `<now ${word.fromNow < 0 ? '-' : '+'} ${Math.abs(word.fromNow)} ms, in ${word.unit}>`

/** @param {import('./program.mjs').Step} step */
const stepText = (step) => {
  switch (step.kind) {
    case 'pause':
      return `(${step.pauseMs} ms pass)`
    case 'role':
      return `(the server becomes a ${step.role})`
    case 'user':
      return `(the user may do ${step.user ? `only ${JSON.stringify(step.user)}` : 'everything'})`
    default: {
      const texts = step.words.map((word) => {
        const known = NAMES.get(word)
        return known === undefined ? wordText(word) : `<${known}>`
      })
      return `${step.on === 1 ? '(second connection) ' : ''}${texts.join(' ')}`
    }
  }
}

const replyText = (reply) => {
  if (reply === null || reply === undefined) return '(nothing)'
  if (Array.isArray(reply)) return `[${reply.map(replyText).join(', ')}]`
  if (typeof reply === 'string') return quoted(reply)
  if (typeof reply === 'bigint') return `(integer) ${reply}`
  return 'error' in reply ? `(error) ${reply.error}` : `(status) ${reply.status}`
}

/** @param {{ steps: import('./program.mjs').Step[], found: { where: string, engine: unknown, real: unknown } }} failed @param {string} server */
export const failureText = ({ steps, found }, server) =>
  [
    ...steps.map((step, i) => `  ${String(i + 1).padStart(2)}  ${stepText(step)}`),
    `${found.where}`,
    `  the engine: ${replyText(found.engine)}`,
    `  ${server}: ${replyText(found.real)}`,
  ]
    .map((line) => line.slice(0, LONGEST))
    .join('\n')
