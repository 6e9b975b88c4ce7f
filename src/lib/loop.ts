/** Repeats a step until `stop`: at once (`again`), at the next `wake`, or after so many ms; one that throws after `pause` (1,000). */
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
    /** Resolves when the step that runs has ended; there is none after it. */
    stop(): Promise<void> {
      stopped = true
      bell.ring()
      return running
    },
  }
}

/** A loop of one task, `every` ms after it ended, or after as many as it returned; one that fails is tried at its next time. */
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
    failed: (err) => log.debug({ task: name, err }, 'housekeeping failed; it is tried again'),
    pause: every,
  })
}

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
