/**
 * Makes a function that runs pieces of work one after another, in order, regardless of earlier
 * failures.
 */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
}
