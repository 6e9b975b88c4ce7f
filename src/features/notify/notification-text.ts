import type { Event } from '../../core/event.ts'
import { counted } from '../../lib/counted.ts'
import type { OperationsEvent } from './operations-event.ts'
import type { NotifyOn } from './schema.ts'

/**
 * The content of a notification about one event, or about all events since the last notification.
 */
export type NotificationText = { subject: string; text: string }

/** Maximum number of kinds of events in a text. */
const MAX_KINDS = 10
/** Maximum number of events in a POSTed body. */
const MAX_EVENTS = 10
/** Maximum characters of the text of an event. */
const MAX_TEXT_LENGTH = 500

/** Writes the notification for `events`: oldest first, at least one. */
export function notificationText(events: readonly Event[]): NotificationText {
  const kinds = kindsOf(events)
  const [first] = kinds
  if (!first) return { subject: 'Trivium', text: '' }
  const others = events.length - first.count
  const subject = others > 0 ? `${headOf(first)} and ${others} more` : headOf(first)
  return { subject: `[Trivium] ${subject}`, text: textOf(events, kinds, describe) }
}

/**
 * A head line (for several events), the text of each kind by `write`, and the number of the rest.
 */
function textOf(events: readonly Event[], kinds: readonly Kind[], write: (kind: Kind) => string): string {
  const shown = kinds.slice(0, MAX_KINDS).map(write)
  const left = kinds.slice(MAX_KINDS).reduce((sum, { count }) => sum + count, 0)
  const head = events.length > 1 ? [`${counted(events.length, 'event')} since ${timeOf(events[0])}:`] : []
  const tail = left > 0 ? [`… and ${left} more: \`trivium trouble list\``] : []
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

/** Not validated further, because only the daemon writes to this topic. */
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
  const sender = about ? `From ${from}: ${about}` : `From ${from}`
  return [...(from ? [sender] : []), shorten(text), `To do: ${todo}`].join('\n')
}

function shorten(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text
}

/** `09:30 UTC`. */
function timeOf(event: Event | undefined): string {
  return `${new Date(event?.timestamp ?? 0).toISOString().slice(11, 16)} UTC`
}

/** The body of a POSTed notification: `text` at the top level, and the events. */
export function notificationBody({ subject, text }: NotificationText, events: readonly Event[]) {
  const shown = events
    .slice(0, MAX_EVENTS)
    .map(({ id, type, timestamp, data }) => ({ id, type, timestamp, data }))
  const types: NotifyOn[] | string[] = [...new Set(events.map(({ type }) => type))]
  const kinds = kindsOf(events)
  // The subject already names the only kind.
  const details = kinds.length === 1 ? textOf(events, kinds, detailsOf) : text
  return { text: `${subject}\n\n${details}`, subject, count: events.length, types, events: shown }
}
