/** The time base of spans, ms since 1970. */
export const wallNow = (): number => Date.now()
