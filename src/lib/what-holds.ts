type Held = { pausedBy?: unknown; budget?: unknown }

/** What holds a message or event: `skill enrich is paused`; undefined if nothing is known to. */
export function whatHolds({ pausedBy, budget }: Held): string | undefined {
  const pauses = (Array.isArray(pausedBy) ? pausedBy : []).map((each) => {
    const { kind, name }: { kind?: unknown; name?: unknown } = Object(each)
    return kind === 'store'
      ? 'everything is paused'
      : `${kind === 'subscription' ? 'push' : kind} ${name} is paused`
  })
  if (pauses.length > 0) return pauses.join(', ')
  return typeof budget === 'string' && budget !== '' ? budget : undefined
}
