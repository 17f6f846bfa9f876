/**
 * Milliseconds of the clock that all processes of one machine share and nobody sets. Not `performance.timeOrigin`, when
 * each of them began: that is read from two clocks one after the other, and on a busy machine it is milliseconds off.
 */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6
