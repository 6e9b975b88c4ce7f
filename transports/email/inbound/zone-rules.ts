import ICAL from 'ical.js'
import { attempt } from '../../../src/lib/attempt.ts'

/** Clock changes as programs write them: once a year, on a day of one month. */
const YEARLY =
  /^FREQ=YEARLY(?:;(?:INTERVAL=1|WKST=[A-Z]{2}|UNTIL=[\dTZ-]+|COUNT=\d+|BYMONTH=\d{1,2}|BYDAY=[+-]?[1-5]?[A-Z]{2}|BYMONTHDAY=-?\d{1,2}(?:,-?\d{1,2}){0,6}))*$/
/** Days that few months have. The library searches long for one that never comes. */
const RARE_DAYS = /;BYMONTHDAY=(?:29|3\d)/
/** Maximum number of rules; real calendars have two for each time zone. */
const MAX_RULES = 10
/**
 * Rules without an end start in this year at the earliest, because no mail is about an event before
 * it. Outlook writes 1601.
 */
const FIRST_YEAR = 1970

/**
 * Limits the work for the clock changes of a calendar, which the library computes up to the
 * present: for `FREQ=SECONDLY` it would take hours. Removes rules that no time zone has, and all if
 * there are too many.
 */
export function limitZoneRules(calendar: ICAL.Component): void {
  const changes = calendar
    .getAllSubcomponents('vtimezone')
    .flatMap((zone) => zone.getAllSubcomponents())
    .filter((change) => change.hasProperty('rrule'))
  for (const change of changes) {
    const rules = change.getAllProperties('rrule').map(textOf)
    if (changes.length > MAX_RULES || !rules.every(isCheap)) change.removeAllProperties('rrule')
    else if (!rules.some((rule) => /;(?:UNTIL|COUNT)=/.test(rule))) startLater(change)
  }
}

function textOf(rule: ICAL.Property): string {
  return attempt(() => rule.getFirstValue()?.toString()) ?? ''
}

function isCheap(rule: string): boolean {
  const isInOneMonth = rule.includes(';BYMONTH=') || !rule.includes(';BY')
  return YEARLY.test(rule) && isInOneMonth && !RARE_DAYS.test(rule)
}

function startLater(change: ICAL.Component): void {
  const start = attempt(() => change.getFirstPropertyValue('dtstart'))
  if (!(start instanceof ICAL.Time) || start.year >= FIRST_YEAR) return
  const later = start.clone()
  later.year = FIRST_YEAR
  change.updatePropertyWithValue('dtstart', later)
}
