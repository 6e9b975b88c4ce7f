/**
 * Collects items without a waiting caller. Passes them to `run` together every `every` ms, or as soon as there are `max`. `run` reports
 * its own failures.
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
    /** Resolves when all items have been passed to `run`. */
    flush: async (): Promise<void> => void (await flush()),
  }
}
