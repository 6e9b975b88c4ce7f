import { createBell } from './bell.ts'

/**
 * Repeats a step until `stop`: at once where it says `again`, else at the next `wake`, or after so many ms where it says a
 * number. One that throws is repeated after `pause` ms.
 */
export function createLoop(options: {
  step(): Promise<'again' | number | undefined>
  failed(error: unknown): void
  pause: number
}) {
  const bell = createBell()
  let stopped = false
  let running: Promise<void> = Promise.resolve()

  const run = async () => {
    while (!stopped) {
      bell.clear()
      const next = await options.step().catch((error: unknown) => {
        options.failed(error)
        return options.pause
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
