/** The middle one; of an even count the upper of the two. @param {number[]} numbers at least one */
export const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]
