import type { Invitation } from './calendar.ts'
import { zoneNamed } from './zone-names.ts'
import { localIn } from './zoned-time.ts'

/** A readable text for a mail that only contains a calendar. */
export function invitationText(invitation: Invitation, subject: string | undefined): string {
  const { method = '', answer = '', summary, location, organiser, organiserName, attendees } = invitation
  const what = answer ? (ANSWERS[answer] ?? 'Answer') : (KINDS[method] ?? 'Event')
  const by = method === 'REPLY' || method === 'COUNTER' ? attendees[0] : undefined
  const who = organiserName && organiser ? `${organiserName} <${organiser}>` : organiser
  const lines = [
    summary ? `${what}: ${summary}` : subject || what,
    by && `By: ${by}`,
    invitation.start && `When: ${whenText(invitation)}`,
    location && `Where: ${location}`,
    who && `Organiser: ${who}`,
    attendees.length > 0 && !by && `Attendees: ${attendees.slice(0, MAX_ATTENDEES).join(', ')}`,
  ]
  return [lines.filter(Boolean).join('\n'), invitation.description].filter(Boolean).join('\n\n')
}

const MAX_ATTENDEES = 50
const KINDS: Record<string, string> = {
  REQUEST: 'Invitation',
  CANCEL: 'Cancelled',
  REPLY: 'Answer',
  COUNTER: 'Counter-proposal',
  DECLINECOUNTER: 'Counter-proposal declined',
  ADD: 'Additional date',
  REFRESH: 'Request for an update',
}
const ANSWERS: Record<string, string> = {
  accepted: 'Accepted',
  declined: 'Declined',
  tentative: 'Tentatively accepted',
  delegated: 'Delegated',
}

function whenText({ start = '', end = '', timezone = '', recurrence }: Invitation): string {
  const from = localText(start, timezone)
  const to = localText(end, timezone)
  const [day, time = ''] = to.split(', ')
  const isSameDay = from.startsWith(`${day}, `)
  const until = to === '' || to === from ? '' : ` to ${isSameDay ? time : to}`
  const zone = start.endsWith('Z')
    ? ` (${zoneNamed(timezone) === undefined ? 'UTC' : timezone})`
    : timezone && ` (${timezone})`
  return `${from}${until}${zone}${recurrence ? `, repeats: ${recurrence}` : ''}`
}

/** `Thu 3 Dec 2026, 09:00`, without a time for whole days. */
function localText(iso: string, timezone: string): string {
  const time = Date.parse(iso.endsWith('Z') || !iso.includes('T') ? iso : `${iso}Z`)
  if (iso === '' || Number.isNaN(time)) return iso
  const local = new Date(iso.endsWith('Z') ? localIn(time, zoneNamed(timezone) ?? 'UTC') : time)
  const day = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const
  const date = new Intl.DateTimeFormat('en-GB', day).format(local).replace(',', '')
  return iso.includes('T') ? `${date}, ${local.toISOString().slice(11, 16)}` : date
}
