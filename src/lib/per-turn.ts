/**
 * Makes what passes on, in one call, all items that it gets in a turn of the event loop: after the callbacks and promises that are due
 * have run, and before anything else comes in.
 */
export function perTurn<Item>(pass: (items: Item[]) => void): (item: Item) => void {
  let items: Item[] = []
  const flush = () => {
    const all = items
    items = []
    pass(all)
  }
  return (item) => {
    if (items.push(item) === 1) process.nextTick(flush)
  }
}
