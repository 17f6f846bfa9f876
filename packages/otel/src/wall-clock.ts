/** What spans are dated by, ms since 1970. */
export const wallNow = (): number => Date.now()
