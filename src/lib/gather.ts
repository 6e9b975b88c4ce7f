/**
 * Collects items that nobody waits for, and passes all that came within `every` ms to `run` in one call, or earlier where there are
 * `max` of them. `run` reports its own failures.
 */
export function createGatherer<Item>(options: {
  every: number
  max: number
  run(items: Item[]): Promise<unknown>
}) {
  let gathered: Item[] = []
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const items = gathered
    gathered = []
    if (items.length > 0) running = Promise.all([running, options.run(items)])
    return running
  }

  return {
    add(item: Item): void {
      gathered.push(item)
      if (gathered.length >= options.max) void flush()
      else timer ??= setTimeout(() => void flush(), options.every)
    },
    /** Resolves when everything that was added has been passed on. */
    flush: async (): Promise<void> => void (await flush()),
  }
}
