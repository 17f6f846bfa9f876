/**
 * @param {{ tookMs: number, wanted: { jobs: number }, jobs: import('bullmq').Job[], orders: number[][],
 *   overlaps: number, left: string[] }} seen
 * @param {{ options: object | null, kill?: boolean, job?: object }} strategy
 */
export const verdict = ({ tookMs, wanted, jobs, orders, overlaps, left }, { options, kill, job }) => {
  const done = jobs.length
  const failures = sum(jobs.map(({ attemptsMade }) => attemptsMade - 1))
  const result = {
    ...{ done, overlaps, failures },
    starts: sum(jobs.map(({ attemptsStarted }) => attemptsStarted)) / jobs.length,
    perSecond: wanted.jobs / (tookMs / 1_000),
    overtaken: sum(orders.map(overtakenIn)) / wanted.jobs,
  }
  const problems = []
  if (done !== wanted.jobs) problems.push(`${done} of ${wanted.jobs} jobs were done`)
  if (options && overlaps > 0) problems.push(`${overlaps} times two at once on a resource`)
  if (!job && failures > 0) problems.push(`${failures} attempts were used up`)
  const runs = sum(orders.map((order) => order.length))
  if (!kill && runs !== wanted.jobs) problems.push(`${runs} runs for ${wanted.jobs} jobs`)
  if (left.length > 0) problems.push(`left in Redis: ${left.join(', ')}`)
  return { ...result, problems }
}

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0)

/** How many ran after one that was added later. */
const overtakenIn = (order) => {
  let latest = -1
  let overtaken = 0
  for (const number of order) {
    if (number < latest) overtaken += 1
    latest = Math.max(latest, number)
  }
  return overtaken
}
