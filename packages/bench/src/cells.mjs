import { optionsFor } from './connection.mjs'

/**
 * @typedef {object} Cell one contestant in one setting, with its connections open
 * @property {string} setting
 * @property {string} name
 * @property {'raw' | 'holdfast' | 'peer'} kind
 * @property {Record<string, number>} calls what one pair makes Redis do
 * @property {((during?: () => Promise<unknown>) => Promise<unknown>)[]} flows each locks and unlocks
 */

/**
 * Opens every contestant in every setting, lets `use` have them, and closes them whatever comes. A peer that does not
 * load on this Node is left out, and noted.
 *
 * @template T
 * @param {import('./context.mjs').Context} context
 * @param {{ settings: object[], flows: number, scenario: string }} what
 * @param {(cells: Cell[]) => Promise<T>} use
 */
export const withCells = async (context, { settings, flows, scenario }, use) => {
  const cells = []
  const closers = []
  try {
    for (const { id, autoPipelining, contestants } of settings) {
      const options = optionsFor(context.url, autoPipelining)
      for (const contestant of contestants.filter((each) => context.isChosen(`${id}: ${each.name}`))) {
        const open = await context.load(contestant)
        if (!open) continue
        const opened = await open({ options, runId: context.runId })
        closers.push(opened.close)
        const names = Array.from({ length: flows }, (_, i) =>
          context.name(scenario, id, contestant.name, String(i)),
        )
        const { name, kind, calls } = contestant
        cells.push({ setting: id, name, kind, calls, flows: names.map(opened.flow) })
      }
    }
    return await use(cells)
  } finally {
    await Promise.allSettled(closers.map((close) => close()))
  }
}
