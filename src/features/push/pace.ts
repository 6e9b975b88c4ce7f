import type { Rate } from '../../core/units.ts'

/**
 * Limits the rate of calls: it runs them in order, evenly spaced. `close` runs the rest at once.
 */
export function createPace(rate: Rate | 'off') {
  const waiting: (() => void)[] = []
  const interval = rate === 'off' ? 0 : rate.per / rate.count
  /** When the next work may run, by `performance.now`. */
  let nextAt = 0
  let timer: NodeJS.Timeout | undefined

  const run = () => {
    timer = undefined
    const time = performance.now()
    const work = waiting.shift()
    if (work) {
      nextAt = Math.max(nextAt, time) + interval
      work()
    }
    if (waiting.length > 0) timer = setTimeout(run, Math.max(0, nextAt - performance.now()))
  }

  return {
    /** Runs the work at its turn; immediately if the rate is `off`. */
    pass(work: () => void): void {
      if (interval === 0) {
        work()
        return
      }
      waiting.push(work)
      timer ??= setTimeout(run, Math.max(0, nextAt - performance.now()))
    },
    close(): void {
      clearTimeout(timer)
      timer = undefined
      for (const work of waiting.splice(0)) work()
    },
  }
}
