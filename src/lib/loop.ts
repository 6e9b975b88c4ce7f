import { LONGEST_TIMER } from './longest-timer.ts'

/**
 * Repeats a step until `stop`. The result of a step decides when the next one runs: immediately
 * (`again`), after that many ms, or at the next `wake`, which also shortens a pause. After an
 * error, the next step runs in `pause` ms (default: 1,000).
 */
export function createLoop(options: {
  step(): Promise<'again' | number | undefined>
  failed(error: unknown): void
  pause?: number
}) {
  const signal = createWakeSignal()
  let stopped = false
  let running: Promise<void> = Promise.resolve()

  const run = async () => {
    while (!stopped) {
      signal.clear()
      const next = await options.step().catch((error: unknown) => {
        options.failed(error)
        return options.pause ?? 1_000
      })
      if (next !== 'again') await signal.sleep(next)
    }
  }

  return {
    start(): void {
      running = run()
    },
    wake: signal.wake,
    /** Ends the loop. Resolves when the running step has ended. */
    stop(): Promise<void> {
      stopped = true
      signal.wake()
      return running
    },
  }
}

/**
 * Repeats a task `every` ms after it ended, or after the ms it returned. A failed task runs again
 * at its next time.
 */
export function repeat(
  task: () => Promise<unknown>,
  every: number,
  name: string,
  log: { debug(fields: object, message: string): void },
) {
  return createLoop({
    async step() {
      const result = await task()
      return typeof result === 'number' ? result : every
    },
    failed: (err) => log.debug({ task: name, err }, 'housekeeping failed; it will be retried'),
    pause: every,
  })
}

/**
 * Wakes a sleeping loop. A signal while it is awake is remembered, so that no event between work
 * and sleep is missed.
 */
export function createWakeSignal() {
  let isSignalled = false
  let endSleep = () => {}
  return {
    wake(): void {
      isSignalled = true
      endSleep()
    },
    /** Forgets earlier signals. Call it just before the work that they announce. */
    clear(): void {
      isSignalled = false
    },
    /** Resolves at the first `wake` since `clear`, or after `ms`. */
    async sleep(ms?: number): Promise<void> {
      if (isSignalled) return
      await new Promise<void>((resolve) => {
        const timer =
          ms === undefined ? undefined : setTimeout(resolve, Math.min(LONGEST_TIMER, Math.max(0, ms)))
        endSleep = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      endSleep = () => {}
    },
  }
}
