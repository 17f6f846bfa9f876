import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Nobody shall pay for the garbage of whoever ran before. */
export const collectGarbage = runInNewContext('gc')
