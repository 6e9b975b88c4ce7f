/**
 * Collects items into batches. `add` returns immediately, without a result. A batch is passed to
 * `run` `delay` ms after its first item, or as soon as it has `max` items. `run` must report its
 * own failures.
 */
export function createGatherer<Item>(options: {
  delay: number
  max: number
  run(items: Item[]): Promise<unknown>
}) {
  let gathered: Item[] = []
  let timer: NodeJS.Timeout | undefined
  let runsSoFar: Promise<void> = Promise.resolve()

  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const batch = gathered
    gathered = []
    if (batch.length > 0) {
      const settled = Promise.all([runsSoFar, options.run(batch)])
      // The results are dropped: each promise would otherwise hold those of all runs before it.
      runsSoFar = settled.then(() => undefined)
    }
    return runsSoFar
  }

  return {
    add(item: Item): void {
      gathered.push(item)
      if (gathered.length >= options.max) void flush()
      else timer ??= setTimeout(() => void flush(), options.delay)
    },
    /** Passes the rest to `run`. Resolves when all runs have ended. */
    flush,
  }
}
