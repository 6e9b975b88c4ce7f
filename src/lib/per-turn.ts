/**
 * Collects the items of one turn of the event loop, and passes them on in one call: after pending
 * callbacks and promises, before the next I/O.
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
