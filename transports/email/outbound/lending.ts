/** Lends up to `max` things, each to one user at a time. Makes one only if none is free. */
export function createLending<T>(max: number, make: () => T) {
  const made: T[] = []
  const free: T[] = []
  const waiting: ((thing: T) => void)[] = []

  const take = (): T | Promise<T> => {
    // The one that was returned last, so that the others are idle and can end.
    const thing = free.pop()
    if (thing !== undefined) return thing
    if (made.length === max) return new Promise((resolve) => waiting.push(resolve))
    const fresh = make()
    made.push(fresh)
    return fresh
  }
  const giveBack = (thing: T) => {
    const next = waiting.shift()
    if (next) next(thing)
    else free.push(thing)
  }

  return {
    async during<R>(work: (thing: T) => Promise<R>): Promise<R> {
      const thing = await take()
      try {
        return await work(thing)
      } finally {
        giveBack(thing)
      }
    },
    all: (): readonly T[] => made,
  }
}
