import type { Rate } from '../../core/units.ts'

/** Limits the rate of work, evenly and in order. After `close` everything passes immediately. */
export function createPace(rate: Rate | 'off') {
  const waiting: (() => void)[] = []
  const interval = rate === 'off' ? 0 : rate.per / rate.count
  let next = 0
  let timer: NodeJS.Timeout | undefined

  const run = () => {
    timer = undefined
    const time = performance.now()
    const work = waiting.shift()
    if (work) {
      next = Math.max(next, time) + interval
      work()
    }
    if (waiting.length > 0) timer = setTimeout(run, Math.max(0, next - performance.now()))
  }

  return {
    pass(work: () => void): void {
      if (interval === 0) {
        work()
        return
      }
      waiting.push(work)
      timer ??= setTimeout(run, Math.max(0, next - performance.now()))
    },
    close(): void {
      clearTimeout(timer)
      timer = undefined
      for (const work of waiting.splice(0)) work()
    },
  }
}
