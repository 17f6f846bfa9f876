/** The versions of Redisson that docs/support.md has. The first is the newest, and the one that runs without --redisson. */
export const VERSIONS = ['4.7.0', '4.0.0', '3.52.0', '3.23.5']

/** Kinds of locks by the first version that has them, and what the table calls them. */
const KINDS_SINCE = { 'non-reentrant': { version: '4.6.1', called: 'the non-reentrant lock' } }
/** The first version that maps every key of the kind. */
const MAPPED_SINCE = { fair: { version: '3.52.0', called: 'the fair lock' } }
/** Before it, whatever the option says, some of the scripts of a fair lock keep to five minutes. */
const FAIR_WAIT_SINCE = '3.50.0'
/** The oldest of those above that has them. */
const LOSS_ERRORS_SINCE = '3.52.0'
const PATIENT = `waiters of a fair lock that die, for whom it waits five minutes before ${FAIR_WAIT_SINCE}`

const isBefore = (version, other) => version.localeCompare(other, 'en', { numeric: true }) < 0

const entriesAfter = (version, since) =>
  Object.entries(since).filter(([, each]) => isBefore(version, each.version))

/**
 * What a version cannot do; the tests of that are left out.
 *
 * @param {string} version
 */
export const lacksOf = (version) => {
  const [missing, unmapped] = [entriesAfter(version, KINDS_SINCE), entriesAfter(version, MAPPED_SINCE)]
  return {
    /** Kinds of locks, as the drivers name them. */
    without: missing.map(([kind]) => kind),
    withoutMapped: unmapped.map(([kind]) => kind),
    hasFairWait: !isBefore(version, FAIR_WAIT_SINCE),
    hasLossErrors: !isBefore(version, LOSS_ERRORS_SINCE),
    /** Java with Java, and Node with Node: what the others are compared with, which takes as long again. */
    withinOne: version === VERSIONS[0],
    /** Behind the extent of a cell. */
    said: (isMapped) => {
      const absent = missing.map(([, { called, version: since }]) => `${called}, which came with ${since}`)
      const apart = unmapped.map(([, { called, version: since }]) => `${called}, not mapped before ${since}`)
      const all = [...absent, ...(isMapped ? apart : isBefore(version, FAIR_WAIT_SINCE) ? [PATIENT] : [])]
      return all.length === 0 ? '' : ` but ${all.join('; ')}`
    },
  }
}
