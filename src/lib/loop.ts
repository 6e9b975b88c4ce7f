/** Repeats a step until `stop`: at once (`again`), at the next `wake`, or after the returned ms; after an error, in `pause` ms (1,000). */
export function createLoop(options: {
  step(): Promise<'again' | number | undefined>
  failed(error: unknown): void
  pause?: number
}) {
  const bell = createBell()
  let stopped = false
  let running: Promise<void> = Promise.resolve()

  const run = async () => {
    while (!stopped) {
      bell.clear()
      const next = await options.step().catch((error: unknown) => {
        options.failed(error)
        return options.pause ?? 1_000
      })
      if (next !== 'again') await bell.sleep(next)
    }
  }

  return {
    start(): void {
      running = run()
    },
    wake: bell.ring,
    /** Ends the loop. Resolves when the running step has ended. */
    stop(): Promise<void> {
      stopped = true
      bell.ring()
      return running
    },
  }
}

/** Repeats a task `every` ms after it ended, or after the ms it returned. A failed task runs again at its next time. */
export function repeat(
  task: () => Promise<unknown>,
  every: number,
  name: string,
  log: { debug(fields: object, message: string): void },
) {
  return createLoop({
    async step() {
      const told = await task()
      return typeof told === 'number' ? told : every
    },
    failed: (err) => log.debug({ task: name, err }, 'housekeeping failed; it will be retried'),
    pause: every,
  })
}

/** Wakes a sleeping loop. A ring while it is awake is remembered, so that no event between work and sleep is missed. */
export function createBell() {
  let rung = false
  let wake = () => {}
  return {
    ring(): void {
      rung = true
      wake()
    },
    /** Clears earlier rings, just before the work they announced. */
    clear(): void {
      rung = false
    },
    /** Resolves at the next ring since `clear`, or after `ms`. */
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
