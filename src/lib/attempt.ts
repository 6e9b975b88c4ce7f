/** What `work` returns; undefined where it throws, whatever that is. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
