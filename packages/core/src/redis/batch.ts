import { probeKey } from '../keys.js'
import { defineScript, type Script } from './script.js'
import type { Receiver } from './script-run.js'
import type { CommandSender, ScriptCommand } from './script-command.js'
import { isList } from './shapes.js'

export const batchScript = defineScript('batch', isList)

/** Redis is blocked while a script runs: larger batches would delay everyone else. */
export const USUAL_ITEMS = 32
export const MOST_ITEMS = 64

/** Commands that are sent as one script. */
export class Batch implements Receiver {
  readonly call: { readonly script: Script; readonly keys: string[]; readonly args: string[] }

  constructor(
    readonly commands: readonly ScriptCommand[],
    private readonly sender: CommandSender,
  ) {
    this.call = { script: batchScript, ...encodeBatch(commands.map((each) => each.call)) }
  }

  get size(): number {
    return this.commands.length
  }

  isWanted(): boolean {
    return this.commands.some((each) => each.isWanted())
  }

  answered(reply: unknown): void {
    this.sender.answered(this, reply)
  }

  failed(error: unknown): void {
    this.sender.failed(this, error)
  }

  /** One for each command. Null: it is not the reply of a batch. */
  repliesIn(reply: unknown): readonly unknown[] | null {
    if (reply instanceof Error) {
      return this.commands.map(() => reply)
    }
    return isList(reply) && reply.length === this.size ? reply : null
  }
}

interface BatchItem {
  readonly script: { readonly name: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** The parts shared by items of one transition. */
interface Form {
  readonly model: BatchItem
  /** Indexes in ARGV, from 0, at which they differ. */
  readonly places: number[]
}

/**
 * KEYS and ARGV of one batch, whose items share a cluster slot. Items of one transition have most arguments in
 * common: those are sent once.
 */
export function encodeBatch(items: readonly BatchItem[]): { keys: string[]; args: string[] } {
  const keys = [probeKey(items[0]?.keys[0] ?? '')]
  const forms: Form[] = []
  const formOf = items.map((item) => formIn(forms, item))
  const values: (number | string)[] = []
  items.forEach(({ keys: itsKeys, args }, i) => {
    const form = formOf[i] as number
    keys.push(...itsKeys)
    values.push(form + 1)
    for (const place of (forms[form] as Form).places) {
      values.push(args[place] as string)
    }
  })
  return { keys, args: [JSON.stringify([forms.map(asSent), values])] }
}

/** The index of the item's form, extended for this item's differences. */
function formIn(forms: Form[], item: BatchItem): number {
  const known = forms.findIndex(({ model }) => isAlike(model, item))
  if (known < 0) {
    return forms.push({ model: item, places: [] }) - 1
  }
  const { model, places } = forms[known] as Form
  model.args.forEach((arg, place) => {
    if (arg !== item.args[place] && !places.includes(place)) {
      places.push(place)
    }
  })
  return known
}

function isAlike(one: BatchItem, other: BatchItem): boolean {
  return (
    one.script === other.script &&
    one.keys.length === other.keys.length &&
    one.args.length === other.args.length
  )
}

function asSent({ model, places }: Form): unknown[] {
  return [model.script.name, model.keys.length, model.args, places.map((place) => place + 1)]
}
