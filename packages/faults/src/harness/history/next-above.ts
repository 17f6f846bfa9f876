/** Answers "the first index from here on whose value exceeds this bound" in logarithmic time. */
export class NextAbove {
  readonly #length: number
  readonly #leaves: number
  readonly #maxima: Float64Array

  constructor(values: readonly number[]) {
    this.#length = values.length
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, values.length)))
    this.#maxima = new Float64Array(2 * this.#leaves).fill(-Infinity)
    this.#maxima.set(values, this.#leaves)
    for (let node = this.#leaves - 1; node > 0; node -= 1) {
      this.#maxima[node] = Math.max(this.#maximum(2 * node), this.#maximum(2 * node + 1))
    }
  }

  /** @returns -1 when there is none */
  find(from: number, bound: number): number {
    if (from >= this.#length) return -1
    let node = this.#leaves + from
    while (this.#maximum(node) <= bound) {
      // Everything below a right child's parent has been seen: climb to where a right sibling is left.
      while (node % 2 === 1) node = (node - 1) / 2
      if (node === 0) return -1
      node += 1
    }
    while (node < this.#leaves) {
      node *= 2
      if (this.#maximum(node) <= bound) node += 1
    }
    return node - this.#leaves
  }

  #maximum(node: number): number {
    return this.#maxima[node] ?? -Infinity
  }
}
