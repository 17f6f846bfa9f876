/** Something of a caller that has gone was left behind, or a caller was told what is not so. */
export class Violation extends Error {
  // What a worker throws arrives as an Error with this name.
  name = 'Violation'
}
