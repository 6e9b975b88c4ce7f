/** Characters in which a time must stand at the beginning or at the end: the library takes up to 2 ms for each. */
export const EDGE = 200

/** A moment that was found in a text: where, and what was said of it. */
export type Moment = Awaited<ReturnType<typeof findMoment>>

/** The moment that a text begins or ends with; `end`: what follows it does not matter to the caller. Undefined where there is none. */
export async function findMoment(text: string, { timezone, now }: { timezone: string; now: number }) {
  const { casual } = await import('chrono-node')
  // What is not said of a time is filled in from what it is there now.
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const timesFrom = (begin: number) =>
    casual
      .parse(text.slice(begin, begin + EDGE), reference, { forwardDate: true })
      .map(({ start, end, text: said, index }) => {
        const isTimed =
          start.isCertain('hour') || /\b(noon|midnight|morning|afternoon|evening|night|tonight)\b/i.test(said)
        const at = begin + index
        return { start, isSpan: end !== null && end !== undefined, said, at, end: at + said.length, isTimed }
      })
  const [first] = timesFrom(0)
  if (first?.at === 0) return first
  return timesFrom(Math.max(0, text.length - EDGE)).at(-1) ?? first
}

/** The moment in ISO 8601: in clock time of the zone, unless it was said how far it is from UTC. */
export function isoOf({ start, said, isTimed }: NonNullable<Moment>, now: number): string {
  if (start.isCertain('timezoneOffset')) {
    // Planned times are whole seconds, and this one must not be over when it is planned.
    return new Date(Math.max(start.date().getTime(), Math.ceil(now / 1000 + 1) * 1000)).toISOString()
  }
  const get = (part: 'year' | 'month' | 'day' | 'hour' | 'minute') => start.get(part) ?? 0
  // A morning begins at nine here, as `every morning` does.
  const isNine = !isTimed || (!start.isCertain('hour') && /morning/i.test(said))
  const clock = isNine ? [9, 0] : [get('hour'), get('minute')]
  const [year, ...rest] = [get('year'), get('month'), get('day'), ...clock]
  const [month, day, hour, minute] = rest.map((part) => String(part).padStart(2, '0'))
  return `${year}-${month}-${day}T${hour}:${minute}:00`
}

/** When a day or a moment that a text begins with begins (Unix ms), as people in the zone say it. */
export async function beginOf(text: string, timezone: string, now: number): Promise<number | undefined> {
  const { casual } = await import('chrono-node')
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const [found] = casual.parse(text.slice(0, EDGE), reference)
  if (found?.index !== 0) return undefined
  const { start } = found
  if (start.isCertain('timezoneOffset')) return start.date().getTime()
  const get = (part: 'year' | 'month' | 'day' | 'hour' | 'minute') => start.get(part) ?? 0
  const clock = start.isCertain('hour') ? [get('hour'), get('minute')] : [0, 0]
  const named = Date.UTC(get('year'), get('month') - 1, get('day'), ...clock)
  // Of two mondays the nearer one is meant to be found, but what begins has begun.
  const isNext =
    start.isCertain('weekday') && !start.isCertain('day') && named > now + offsetAt(now, timezone) * 60_000
  const local = isNext ? named - 7 * 86_400_000 : named
  // The clocks may have changed since then.
  const near = local - offsetAt(local, timezone) * 60_000
  return local - offsetAt(near, timezone) * 60_000
}

/** Minutes by which a zone is ahead of UTC. */
function offsetAt(time: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(time)
  const [, sign, hours = 0, minutes = 0] =
    /GMT([+-])(\d\d):(\d\d)/.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
