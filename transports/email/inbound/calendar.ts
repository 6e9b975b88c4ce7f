import ICAL from 'ical.js'
import { attempt } from '../../../src/lib/attempt.ts'
import { defined } from '../../../src/lib/defined.ts'
import { lowerCase } from '../mime/addresses.ts'
import { decodeText } from '../mime/charset.ts'
import { oneLine } from '../mime/one-line.ts'
import { isCalendar, type Part } from './parts.ts'
import { zoneNamed } from './zone-names.ts'
import { limitZoneRules } from './zone-rules.ts'
import { instantOf } from './zoned-time.ts'

/**
 * The content of a calendar in a mail (RFC 5545, RFC 5546). Times are ISO 8601: an instant (`…Z`),
 * a date for whole days, or a local time if the calendar names no zone. Addresses are in lower
 * case.
 */
export type Invitation = {
  /** REQUEST, REPLY, CANCEL, …, in capitals. */
  method?: string
  uid?: string
  summary?: string
  start?: string
  end?: string
  /** The time zone in which the times were written. */
  timezone?: string
  location?: string
  description?: string
  organiser?: string
  organiserName?: string
  attendees: string[]
  /** The response of the attendee, in a REPLY or COUNTER: accepted, declined, tentative, … */
  answer?: string
  /** Higher numbers replace lower ones (RFC 5546, section 2.1.4). */
  sequence?: number
  /** The recurrence rule (RRULE). */
  recurrence?: string
  /** The start of the occurrence that is meant. */
  recurrenceId?: string
}

const MAX_BYTES = 256 * 1024
/**
 * Outlook does not quote the name of a zone in which there is a colon or a comma:
 * `DTSTART;TZID=(UTC+01:00) Berlin, Rome:20261203T100000`. The name is quoted before parsing.
 */
const BARE_ZONE =
  /^((?:DTSTART|DTEND|DUE|RECURRENCE-ID)\b[^\n":]{0,200}?;TZID=)([^"\n;]{0,200}[:,][^"\n;]{0,200})(:\d{8}(?:T\d{6}Z?)?)$/gim
/** Maximum characters of a text. */
const MAX_TEXT = 20_000
/** Maximum characters of a parameter. */
const MAX_PARAMETER = 500
/** Maximum characters of an address (RFC 5321, section 4.5.3.1). */
const MAX_ADDRESS = 320
const MAX_ATTENDEES = 500
/** Maximum DURATION (seconds) that is added to a start: 100 years. */
const MAX_DURATION = 36_500 * 86_400
/** Maximum number of calendars in a mail that are tried. */
const MAX_CALENDARS = 5

/** The first readable calendar of a mail; undefined without one. */
export function invitationIn(parts: readonly Part[]): Invitation | undefined {
  for (const part of parts.filter(isCalendar).slice(0, MAX_CALENDARS)) {
    const invitation = readInvitation(part)
    if (invitation) return invitation
  }
  return undefined
}

function readInvitation({ content, charset, method }: Part): Invitation | undefined {
  if (content.length > MAX_BYTES) return undefined
  const text = decodeText(content, charset ?? 'utf-8')
    .replaceAll(/\r+\n?/g, '\n')
    .replaceAll(BARE_ZONE, '$1"$2"$3')
    .trim()
  const calendar = parseCalendar(text) ?? parseCalendar(withoutInvalidLines(text))
  if (!calendar) return undefined
  const events = ['vevent', 'vtodo'].flatMap((name) => calendar.getAllSubcomponents(name))
  // Changed occurrences follow the main event.
  const event = events.find((each) => !each.hasProperty('recurrence-id')) ?? events[0]
  return event && detailsOf(event, method ?? textOf(calendar, 'method'))
}

/** Undefined for invalid content; such a part stays a file. */
function parseCalendar(text: string): ICAL.Component | undefined {
  return attempt(() => {
    const parsed = ICAL.parse(text)
    // The library returns a list for several calendars.
    const calendar = new ICAL.Component(typeof parsed[0] === 'string' ? parsed : parsed[0])
    limitZoneRules(calendar)
    return calendar
  })
}

/** Drops continuation lines without indentation: some programs do not fold descriptions. */
function withoutInvalidLines(text: string): string {
  const lines = text.split('\n')
  return lines.filter((line) => /^(?:[ \t]|[a-z][a-z\d-]{1,60}[;:])/i.test(line)).join('\n')
}

/** Reads each property on its own, so that an invalid one does not hide the others. */
function detailsOf(event: ICAL.Component, method: string | undefined): Invitation {
  const organiser = event.getFirstProperty('organizer')
  const attendees = event.getAllProperties('attendee').slice(0, MAX_ATTENDEES)
  const start = event.getFirstProperty('dtstart') ?? event.getFirstProperty('due')
  const isAnswer = /^(reply|counter)$/i.test(method ?? '')
  const sequence = Number(attempt(() => event.getFirstPropertyValue('sequence')) ?? Number.NaN)
  return {
    attendees: attendees.map(addressOf).filter((each) => each !== ''),
    ...defined({
      method: method?.toUpperCase(),
      uid: textOf(event, 'uid'),
      summary: textOf(event, 'summary'),
      start: timeOf(start),
      end: endOf(event, start),
      timezone: zoneOf(start),
      location: textOf(event, 'location'),
      description: longTextOf(event, 'description'),
      organiser: organiser ? addressOf(organiser) || undefined : undefined,
      organiserName: organiser ? parameterOf(organiser, 'cn') : undefined,
      answer: isAnswer && attendees[0] ? parameterOf(attendees[0], 'partstat')?.toLowerCase() : undefined,
      sequence: Number.isSafeInteger(sequence) ? sequence : undefined,
      recurrence: attempt(() => event.getFirstPropertyValue('rrule')?.toString()),
      recurrenceId: timeOf(event.getFirstProperty('recurrence-id')),
    }),
  }
}

function longTextOf(component: ICAL.Component, name: string): string | undefined {
  const value = attempt(() => component.getFirstPropertyValue(name))
  return typeof value === 'string'
    ? value.replaceAll(/\r\n?/g, '\n').trim().slice(0, MAX_TEXT) || undefined
    : undefined
}

function textOf(component: ICAL.Component, name: string): string | undefined {
  return oneLine(longTextOf(component, name) ?? '') || undefined
}

function parameterOf(property: ICAL.Property, name: string): string | undefined {
  const [value] = [property.getParameter(name)].flat()
  return value ? oneLine(value).slice(0, MAX_PARAMETER) || undefined : undefined
}

/**
 * The address in `mailto:Bob@example.org`, in lower case. If the value is not an address, Exchange
 * has it in EMAIL.
 */
function addressOf(property: ICAL.Property): string {
  const value = String(attempt(() => property.getFirstValue()) ?? '').replace(/^mailto:/i, '')
  const address = value.includes('@') ? value : (parameterOf(property, 'email') ?? '')
  return lowerCase(oneLine(address)).slice(0, MAX_ADDRESS)
}

function timeOf(property: ICAL.Property | null): string | undefined {
  const time = attempt(() => property?.getFirstValue())
  return property && time instanceof ICAL.Time ? formatTime(time, property) : undefined
}

/** Formats a time in the zone of its property. */
function formatTime(time: ICAL.Time, property: ICAL.Property): string {
  if (time.isDate) return time.toString()
  const zone = time.zone?.tzid
  if (zone && zone !== 'floating') return isoOf(time.toJSDate())
  // The calendar does not define the zone that it names.
  const instant = instantOf(time.toString(), zoneNamed(zoneOf(property) ?? '') ?? '')
  return instant === undefined ? time.toString() : isoOf(new Date(instant))
}

/** DTEND, the DUE of a task that has a start, or the start plus DURATION. */
function endOf(event: ICAL.Component, start: ICAL.Property | null): string | undefined {
  const due = event.hasProperty('dtstart') ? event.getFirstProperty('due') : null
  const end = timeOf(event.getFirstProperty('dtend')) ?? timeOf(due)
  if (end !== undefined) return end
  const from = attempt(() => start?.getFirstValue())
  const duration = attempt(() => event.getFirstPropertyValue('duration'))
  if (!(start && from instanceof ICAL.Time && duration instanceof ICAL.Duration)) return undefined
  return Math.abs(duration.toSeconds()) <= MAX_DURATION ? timeAfter(from, duration, start) : undefined
}

/** Counts days and weeks by the calendar, and the rest in seconds (RFC 5545, section 3.3.6). */
function timeAfter(from: ICAL.Time, duration: ICAL.Duration, start: ICAL.Property): string {
  const sign = duration.isNegative ? -1 : 1
  const days = sign * (duration.weeks * 7 + duration.days)
  const seconds = sign * (duration.hours * 3_600 + duration.minutes * 60 + duration.seconds)
  const time = from.clone()
  time.adjust(days, 0, 0, 0)
  const sameTimeOfDay = formatTime(time, start)
  if (sameTimeOfDay.endsWith('Z')) return isoOf(new Date(Date.parse(sameTimeOfDay) + seconds * 1000))
  time.adjust(0, 0, 0, seconds)
  return time.toString()
}

function isoOf(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z')
}

function zoneOf(property: ICAL.Property | null): string | undefined {
  return property ? parameterOf(property, 'tzid') : undefined
}
