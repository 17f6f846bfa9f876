/** The first index below `length` for which `holds` is true, or `length`; `holds` must not turn false again. */
export const firstIndex = (length: number, holds: (index: number) => boolean): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
