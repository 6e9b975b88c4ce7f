import { TriviumError } from '../../core/errors.ts'
import { parseDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'

/** When, as a schedule has it: by cron (or a moment in ISO 8601, once) in `timezone`, or every so many ms. `what` is left of the words. */
export type When = { cron?: string; every?: number; timezone: string; when: string; what: string }

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const DAY = '(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?s?'
const ZONE = String.raw`(?:\s*,?\s*(?:in\s+|\()?(?<zone>UTC|GMT|[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?)\)?(?:\s+time)?(?![\w/]))?`
const CLOCK = String.raw`(?:(?<hour>\d{1,2})(?:[:.](?<minute>\d\d))?\s*(?<half>[ap]\.?m\.?)?(?:\s*o'clock)?|(?<named>noon|midnight))(?![\w:.]?\d)`
const AT = String.raw`(?:\s*,?\s*at\s+${CLOCK})?`
const PERIOD = [
  String.raw`(?<count>\d+|other)?\s*(?<unit>minutes?|mins?|hours?|days?|weeks?)`,
  String.raw`(?<set>weekdays?|work(?:ing)?\s?days?|weekends?)`,
  String.raw`(?<days>${DAY}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)${DAY})*)`,
  String.raw`(?<month>month)(?:\s+on\s+the\s+(?<date>\d{1,2})(?:st|nd|rd|th)?)?`,
  String.raw`(?<date2>\d{1,2})(?:st|nd|rd|th)(?:\s+of\s+(?:the|every|each)\s+month)?`,
].join('|')
const EVERY = String.raw`(?:(?:every|each|on\s+the(?=\s+\d+\S*\s+of\s+(?:every|each)))\s+(?:${PERIOD})|(?<adverb>hourly|daily|weekly|monthly))(?![\w])`
const REPEATED = new RegExp(`${EVERY}${AT}${ZONE}`, 'i')
const ZONE_AFTER = new RegExp(`^${ZONE}`)

/** What stands between a time and what is to be done, or in front of a time. */
const LINK = /^(?:\s*[,:;–-])?\s*(?:(?:please|to|do|run|send me|that)\s+)?/i

/**
 * Reads when something is to happen in what a person said, without a model: "every weekday at 9 digest", "tomorrow at 10: call Ada",
 * "digest every 2 hours in Europe/Berlin". `timezone` holds where none is named. Undefined: no time was found. Throws `usage`
 * for one that is not possible.
 */
export async function readWhen(
  text: string,
  { timezone, now }: { timezone: string; now: number },
): Promise<When | undefined> {
  const known = zoneOf(undefined, timezone)
  return readRepeated(text, known) ?? (await readMoment(text, known, now))
}

function readRepeated(text: string, timezone: string): When | undefined {
  const found = REPEATED.exec(text)
  const split = found && splitAt(text, found.index, found[0].length)
  if (!split) return undefined
  const groups = found.groups ?? {}
  return { ...split, timezone: zoneOf(groups.zone, timezone), ...planOf(groups, found[0].trim()) }
}

/** The time must stand first or last: elsewhere it belongs to what is said. */
function splitAt(text: string, start: number, length: number): Pick<When, 'when' | 'what'> | undefined {
  const [before, after] = [text.slice(0, start).trim(), text.slice(start + length)]
  if (before !== '' && after.trim() !== '') return undefined
  const what = before === '' ? after.replace(LINK, '').trim() : before.replace(/[\s,:;–-]+$/, '')
  return { when: text.slice(start, start + length).trim(), what: what.replace(/^to\s+/i, '') }
}

type Groups = Record<string, string | undefined>

function planOf(groups: Groups, said: string): Pick<When, 'cron'> | Pick<When, 'every'> {
  const { count, unit = '', set, days, adverb = '', month, date = groups.date2 } = groups
  const isAt = groups.hour !== undefined || groups.named !== undefined
  const [hour, minute] = clockOf(groups)
  const cron = (rest: string) => ({ cron: `${minute} ${hour} ${rest}` })
  if (set !== undefined) return cron(/^weekend/i.test(set) ? '* * 0,6' : '* * 1-5')
  if (days !== undefined) return cron(`* * ${daysOf(days)}`)
  if (month !== undefined || date !== undefined || /^monthly$/i.test(adverb))
    return cron(`${dateOf(date)} * *`)
  const many = count === undefined ? 1 : Number(count === 'other' ? 2 : count)
  const one = /^(h|m|d|w)/i.exec(adverb || unit)?.[1]?.toLowerCase() ?? 'd'
  if (isAt && one === 'd' && many === 1) return cron('* * *')
  if (isAt) throw unclear(said, 'a time of day goes with days: every day, every weekday, every monday')
  // By the clock and the days, so that it comes at nine again when clocks change.
  if (many === 1 && one === 'd') return { cron: '0 9 * * *' }
  if (many === 1 && one === 'w') return { cron: '0 9 * * 1' }
  if (many === 1 && one === 'h') return { cron: '0 * * * *' }
  const every = parseDuration(one === 'w' ? `${many * 7}d` : `${many}${one}`) ?? 0
  if (every < 60_000) throw unclear(said, 'the shortest is every minute')
  return { every }
}

/** Where no time of day is said, it is nine o'clock. */
function clockOf({ hour = '9', minute = '0', half, named }: Groups): [hour: number, minute: number] {
  if (named !== undefined) return [/noon/i.test(named) ? 12 : 0, 0]
  const given = Number(hour)
  const isValid = Number(minute) < 60 && (half === undefined ? given < 24 : given >= 1 && given <= 12)
  if (!isValid) throw unclear(`${hour}:${minute.padStart(2, '0')}${half ?? ''}`, 'a day has 24 hours')
  if (half === undefined) return [given, Number(minute)]
  return [(given % 12) + (/^p/i.test(half) ? 12 : 0), Number(minute)]
}

function daysOf(days: string): string {
  const named = days.toLowerCase().split(/[\s,]+(?:and\s+)?/)
  return [...new Set(named.map((name) => DAYS.findIndex((day) => day.startsWith(name.slice(0, 3)))))].join()
}

function dateOf(date = '1'): number {
  const number = Number(date)
  if (number >= 1 && number <= 31) return number
  throw unclear(`the ${date}th`, 'a month has 31 days at most')
}

/** Characters in which a time must stand at the beginning or at the end: the library takes up to 2 ms for each. */
const EDGE = 200

/** Once, at a moment. What is said in clock time means that of the zone; "in ten minutes" is the same everywhere. */
async function readMoment(text: string, timezone: string, now: number): Promise<When | undefined> {
  const { casual } = await import('chrono-node')
  // What is not said of a time is filled in from what it is there now.
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const timesFrom = (begin: number) =>
    casual
      .parse(text.slice(begin, begin + EDGE), reference, { forwardDate: true })
      .map(({ start, text: said, index }) => ({ start, text: said, index: begin + index }))
  const last = text.length - EDGE
  const [first] = timesFrom(0)
  const found = last > 0 && first?.index !== 0 ? timesFrom(last).at(-1) : first
  if (!found) return undefined
  const behind = text.slice(found.index + found.text.length)
  const zone = ZONE_AFTER.exec(behind)
  const split = splitAt(text, found.index, found.text.length + (zone?.[0].length ?? 0))
  if (!split) return undefined
  const wanted = zoneOf(zone?.groups?.zone, timezone)
  if (found.start.isCertain('timezoneOffset')) {
    // Planned times are whole seconds, and this one must not be over when it is planned.
    const at = Math.max(found.start.date().getTime(), Math.ceil(now / 1000 + 1) * 1000)
    return { ...split, timezone: wanted, cron: new Date(at).toISOString() }
  }
  const get = (part: 'year' | 'month' | 'day' | 'hour' | 'minute') => found.start.get(part) ?? 0
  const isTimed =
    found.start.isCertain('hour') ||
    /\b(noon|midnight|morning|afternoon|evening|night|tonight)\b/i.test(found.text)
  const clock = isTimed ? [get('hour'), get('minute')] : [9, 0]
  const [year, ...rest] = [get('year'), get('month'), get('day'), ...clock]
  const [month, day, hour, minute] = rest.map((part) => String(part).padStart(2, '0'))
  return { ...split, timezone: wanted, cron: `${year}-${month}-${day}T${hour}:${minute}:00` }
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

/** Throws `usage` for a zone that is not known. */
function zoneOf(said: string | undefined, timezone: string): string {
  const zone = said ?? timezone
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone && zone
  } catch (error) {
    throw new TriviumError('usage', { details: `There is no time zone ${zone}.` }, { cause: error })
  }
}

/** A time for people: `Tue, 24 Nov 2026, 09:00 (Europe/Berlin)`. */
export function showTime(time: number, timeZone: string): string {
  const date = new Intl.DateTimeFormat('en-GB', {
    ...defined({ timeZone }),
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  })
  return `${date.format(time)} (${timeZone})`
}

function unclear(said: string, why: string): TriviumError {
  return new TriviumError('usage', { details: `"${said}" is no time to plan for: ${why}.` })
}
