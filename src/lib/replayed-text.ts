/** Counts of the events that a replay processed, as in its result. */
type Result = {
  events?: unknown
  unread?: unknown
  queued?: unknown
  filtered?: unknown
  gone?: unknown
}

/**
 * `67 of 500 events handed to the push; left out: 371 by its filter, 62 that were not read yet`. The
 * numbers add up. Undefined if they are not known.
 */
export function replayedText(
  result: Result | undefined,
  { isPush }: { isPush: boolean },
): string | undefined {
  if (result?.events === undefined) return undefined
  const { events, filtered, unread, queued, gone }: Result = result
  const replayed = Number(events)
  const isWere = (many: number) => (many === 1 ? 'was' : 'were')
  const leftOut: [unknown, (many: number) => string][] = [
    [filtered, () => 'by its filter'],
    [unread, (many) => `that ${isWere(many)} not read yet`],
    [queued, () => 'that waited for an attempt already'],
    [gone, () => 'no longer stored'],
  ]
  const others = leftOut.flatMap(([count, words]) => {
    const many = Number(count ?? 0)
    return many > 0 ? [{ many, text: `${many.toLocaleString('en')} ${words(many)}` }] : []
  })
  const all = others.reduce((sum, { many }) => sum + many, replayed)
  const whole = `${all.toLocaleString('en')} ${all === 1 ? 'event' : 'events'}`
  const some = all === replayed ? whole : `${replayed.toLocaleString('en')} of ${whole}`
  const verb = isPush ? 'handed to the push' : 'replayed'
  const rest = others.length === 0 ? '' : `; left out: ${others.map(({ text }) => text).join(', ')}`
  return `${some} ${verb}${rest}`
}
