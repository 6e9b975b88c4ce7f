import { nextTime, timeRangeIn } from './time-range.ts'

/** `after:` or `before:` with its value; a text in quotation marks comes first, and is left alone. */
const TIME_TERM = /"(?:[^"\\]|\\.)*"|(?<=^|\s)(after|since|before|until):(?:"([^"]*)"|(\S+))/gi

/**
 * A search for messages with its times as they are now: `after:2h` or `after:"yesterday 18-24"` become
 * `after:2026-11-29T18:00:00Z before:…`. The words of a search are in UTC. Times that cannot be read
 * stay.
 */
export function frozenSearch(search: string, now = Date.now()): string {
  const terms = [...search.matchAll(TIME_TERM)]
  const after = terms.find(([, key = '']) => START.test(key))
  const start = after && relativeRange(after[2] ?? after[3] ?? '', now)
  const hasEnd = terms.some(([, key = '']) => END.test(key))
  const frozen = search.replaceAll(TIME_TERM, (whole, key?: string, quoted?: string, plain?: string) => {
    const value = quoted ?? plain ?? ''
    if (key === undefined) return whole
    if (END.test(key)) return frozenEnd(whole, value, { start, now })
    return start?.since === undefined ? whole : `after:${timeText(start.since)}`
  })
  if (!start || hasEnd) return frozen
  return `${frozen} before:${timeText(start.endsAt === 'time' ? (start.until ?? now) : now)}`
}

const START = /^(after|since)$/i
const END = /^(before|until)$/i

type Start = ReturnType<typeof relativeRange>

/** An end such as `11:00` belongs to the day of a start with a time. */
function frozenEnd(whole: string, value: string, { start, now }: { start: Start; now: number }): string {
  const end = relativeRange(value, now)
  if (end?.since === undefined) return whole
  const belongs =
    end.repeats === 'day' ? start?.startsAt === 'time' : end.repeats && start?.repeats === 'week'
  const next = belongs && start?.since !== undefined ? nextTime(value, start.since, 'utc') : undefined
  const hours = start?.endsAt === 'time' ? start.until : undefined
  return `before:${timeText(Math.min(next ?? end.since, hours ?? Number.POSITIVE_INFINITY))}`
}

/** The range of an age or of words; undefined for a time with its date, which means the same later. */
function relativeRange(words: string, now: number) {
  if (/^\d{4}-\d\d-\d\d(T\S*)?$/.test(words)) return undefined
  const range = timeRangeIn(words, { now, zone: 'utc' })
  return range?.since === undefined ? undefined : range
}

function timeText(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z')
}
