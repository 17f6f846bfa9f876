// The shop's end of the database. In a service this is a pool of `pg`; here the parent process has a PGlite.
let latest = 0
const waiting = new Map()
process.on('message', (answer) => {
  waiting.get(answer.id)?.(answer)
  waiting.delete(answer.id)
})

/** @returns {Promise<{ rows: any[], affectedRows: number }>} */
export const query = (sql, params) =>
  new Promise((resolve) => {
    latest += 1
    waiting.set(latest, resolve)
    process.send({ id: latest, sql, params })
  })
