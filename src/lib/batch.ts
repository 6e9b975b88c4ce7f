export type Batcher<Item, Result> = ReturnType<typeof createBatcher<Item, Result>>

type Waiting<Item, Result> = {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Passes all items added in one turn of the event loop to one call of `run` (at most `max` items),
 * which returns results in order. The results are released together. `serial`: one batch runs at a
 * time, and new items join the next. `failed`: the error of a single item, if any.
 */
export function createBatcher<Item, Result>(options: {
  max: number
  serial?: boolean
  run(items: Item[]): Promise<readonly Result[]>
  failed?(result: Result): Error | undefined
}) {
  const waiting: Waiting<Item, Result>[] = []
  let pending = 0
  let isRunning = false
  /** Functions that resolve the promises of `idle`. */
  let onIdle: (() => void)[] = []

  const flush = async () => {
    if (isRunning) return
    isRunning = options.serial ?? false
    while (waiting.length > 0) {
      const batch = runBatch(waiting.splice(0, options.max))
      if (options.serial) await batch
    }
    isRunning = false
  }

  const runBatch = async (batch: Waiting<Item, Result>[]) => {
    try {
      const results = await options.run(batch.map(({ item }) => item))
      batch.forEach(({ resolve, reject }, index) => {
        // There is one result per item.
        const result = results[index] as Result
        const error = options.failed?.(result)
        if (error) reject(error)
        else resolve(result)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    pending -= batch.length
    if (pending === 0) {
      const listeners = onIdle
      onIdle = []
      for (const resolve of listeners) resolve()
    }
  }

  return {
    /** Resolves with the item's result once its batch ran. Rejects with the error of `run`. */
    add: (item: Item) =>
      new Promise<Result>((resolve, reject) => {
        pending += 1
        if (waiting.push({ item, resolve, reject }) === 1) setImmediate(() => void flush())
      }),
    /** Number of waiting and running items. */
    pending: () => pending,
    /** Resolves when nothing is waiting or running. */
    async idle(): Promise<void> {
      if (pending > 0) await new Promise<void>((resolve) => onIdle.push(resolve))
    },
  }
}
