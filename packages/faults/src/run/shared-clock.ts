/**
 * Milliseconds of the clock that all processes of one machine share and nobody sets. Not `performance.timeOrigin`: each
 * process reads that from two clocks one after the other, and on a busy machine it is milliseconds off.
 */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6
