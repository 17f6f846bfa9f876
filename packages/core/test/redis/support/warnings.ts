import { afterEach, beforeEach } from '@jest/globals'
import { runInThisContext } from 'node:vm'

/** A process warning as Node hands it out. */
export interface ProcessWarning {
  readonly name: string
  readonly message: string
  readonly code?: string
}

// A test sees a copy of `process` made by Jest, on which no warning ever arrives.
const realProcess = runInThisContext('process') as NodeJS.Process

/** The process warnings of one test. */
export class Warnings {
  private all: ProcessWarning[] = []

  /** Those with this code that speak of this text, for instance a lock's name. */
  of(code: string, text = ''): ProcessWarning[] {
    return this.all.filter((each) => each.code === code && each.message.includes(text))
  }

  /** The same as `of`, once all earlier warnings have arrived: Node hands it out a tick later. */
  async delivered(code: string, text = ''): Promise<ProcessWarning[]> {
    await new Promise((resolve) => setImmediate(resolve))
    return this.of(code, text)
  }

  private readonly collect = (warning: ProcessWarning): void => {
    this.all.push(warning)
  }

  /** From now on, with none from before. */
  listen(): this {
    this.all = []
    realProcess.on('warning', this.collect)
    return this
  }

  ignore(): void {
    realProcess.off('warning', this.collect)
  }
}

/** To be called at the top of a describe block. */
export function useWarnings(): Warnings {
  const warnings = new Warnings()
  beforeEach(() => void warnings.listen())
  afterEach(() => warnings.ignore())
  return warnings
}
