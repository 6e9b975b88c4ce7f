/** Wakes one loop that sleeps. A ring while it is awake is remembered, so that nothing between work and sleep is missed. */
export function createBell() {
  let rung = false
  let wake = () => {}
  return {
    ring(): void {
      rung = true
      wake()
    },
    /** Forgets the rings so far: what they told of is looked at next. */
    clear(): void {
      rung = false
    },
    /** Resolves at the next ring since `clear`, or after so many ms. */
    async sleep(ms?: number): Promise<void> {
      if (rung) return
      await new Promise<void>((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(resolve, Math.min(LONGEST, Math.max(0, ms)))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      wake = () => {}
    },
  }
}

/** Node's longest timer; longer ones fire at once. */
const LONGEST = 2 ** 31 - 1
