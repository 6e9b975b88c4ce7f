import type { NotifyOn } from '../../config/schema/notify.ts'
import type { Event } from '../../core/event.ts'
import { counted } from '../../lib/counted.ts'
import type { OperationsEvent } from './operations-event.ts'

/** The content of a notification: of one event, or of all events since the last notification. */
export type NotificationText = { subject: string; text: string }

/** Maximum number of event kinds in a notification. */
const MOST_SHOWN = 10
const LONGEST = 500

/** Writes the notification for `events`: oldest first, at least one. */
export function notificationText(events: readonly Event[]): NotificationText {
  const kinds = kindsOf(events)
  const [first] = kinds
  if (!first) return { subject: 'Trivium', text: '' }
  const others = events.length - first.count
  const subject = `${headOf(first)}${others > 0 ? ` and ${others} more` : ''}`
  return { subject: `[Trivium] ${subject}`, text: textOf(events, kinds, describe) }
}

function textOf(events: readonly Event[], kinds: readonly Kind[], write: (kind: Kind) => string): string {
  const shown = kinds.slice(0, MOST_SHOWN).map(write)
  const left = kinds.slice(MOST_SHOWN).reduce((sum, { count }) => sum + count, 0)
  const head = events.length > 1 ? [`${counted(events.length, 'event')} since ${timeOf(events[0])}:`] : []
  const tail = left > 0 ? [`… and ${left} more: \`trivium troubles\``] : []
  return [...head, ...shown, ...tail].join('\n\n')
}

type Kind = { count: number; data: OperationsEvent }

/** Groups events of the same kind, with the newest event and the count of each. */
function kindsOf(events: readonly Event[]): Kind[] {
  const kinds = new Map<string, Kind>()
  for (const { type, data } of events) {
    if (!isOperations(data)) continue
    const key = JSON.stringify([type, data.title])
    kinds.set(key, { count: (kinds.get(key)?.count ?? 0) + 1, data })
  }
  return [...kinds.values()].sort((a, b) => b.count - a.count)
}

/** Only the daemon writes to this topic. */
function isOperations(data: unknown): data is OperationsEvent {
  return typeof Object(data).title === 'string' && typeof Object(data).text === 'string'
}

function headOf({ count, data }: Kind): string {
  return count > 1 ? `${data.title} (${count} times)` : data.title
}

function describe(kind: Kind): string {
  return `**${headOf(kind)}**\n${detailsOf(kind)}`
}

function detailsOf({ data }: Kind): string {
  const { where, text, todo } = data
  const { from, about } = where
  const whose = from ? `From ${from}${about ? `: ${about}` : ''}\n` : ''
  return `${whose}${shorten(text)}\nTo do: ${todo}`
}

function shorten(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

function timeOf(event: Event | undefined): string {
  return `${new Date(event?.timestamp ?? 0).toISOString().slice(11, 16)} UTC`
}

/** The body of a POSTed notification: `text` at the top level, and the events. */
export function notificationBody({ subject, text }: NotificationText, events: readonly Event[]) {
  const shown = events
    .slice(0, MOST_SHOWN)
    .map(({ id, type, timestamp, data }) => ({ id, type, timestamp, data }))
  const types: NotifyOn[] | string[] = [...new Set(events.map(({ type }) => type))]
  const kinds = kindsOf(events)
  // The subject already names a single kind.
  const said = kinds.length === 1 ? textOf(events, kinds, detailsOf) : text
  return { text: `${subject}\n\n${said}`, subject, count: events.length, types, events: shown }
}
