import { shownAuthor } from '../../core/author.ts'
import type { Trouble } from '../../core/trouble.ts'
import { HOUR } from '../../core/units.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { heldRunsText } from '../../lib/resumed-text.ts'
import type { PauseReading } from './readings.ts'
import { capitalised, dayAndTime, firstLine, info, timeOfDay } from './trouble-parts.ts'

/** Maximum number of conversations in a text. */
export const MAX_NAMED = 3

/**
 * One entry per paused gateway, route, skill and schedule, and one for all conversations that people have
 * taken over.
 */
export function pauseTroubles(pauses: readonly PauseReading[]): Trouble[] {
  const conversations = pauses.filter(({ kind }) => kind === 'conversation')
  const others = pauses.filter(({ kind }) => kind !== 'conversation')
  const found = others.map((pause) => {
    const { kind, name, label = name, since, by, reason, waiting } = pause
    const why = reason === undefined ? '' : `: ${reason}`
    return info('paused', whereOf(pause), {
      title: `${capitalised(kind)} ${firstLine(label)} is paused`,
      text: `By ${shownAuthor(by)}${endOf(pause)}${why}. ${waitingText(pause)}`,
      todo: `${commandText(`${kind} resume`, name)} ends the pause.`,
      since,
      ...(waiting !== undefined && waiting > 0 && { count: waiting }),
    })
  })
  if (conversations.length === 0) return found
  const takenOver = info(
    'paused',
    { reason: 'conversations' },
    {
      title: `People have taken over ${counted(conversations.length, 'conversation')}`,
      text: `Skills do not run in them: ${namesOf(conversations)}.`,
      todo: '`trivium pause list` lists them; `trivium conversation hand back` hands one back.',
      count: conversations.length,
      since: Math.min(...conversations.map(({ since }) => since)),
    },
  )
  return [...found, takenOver]
}

/** The conversations, oldest pause first, with who paused them. */
function namesOf(conversations: readonly PauseReading[]): string {
  const named = conversations.toSorted((a, b) => a.since - b.since).slice(0, MAX_NAMED)
  const names = named.map(({ name, label, gateway, by, waiting = 0 }) => {
    const waits = waiting > 0 ? `, ${counted(waiting, 'message waits', 'messages wait')}` : ''
    const whose = label === undefined ? [gateway, name] : [label, gateway && `in ${gateway}`]
    return `${whose.filter(Boolean).join(' ')} (${shownAuthor(by)}${waits})`
  })
  const more = conversations.length - named.length
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

/** Adds `paused: true` to the gateways whose pause is among `troubles`. */
export function withPauses<T extends { name: string }>(
  gateways: readonly T[],
  troubles: readonly Trouble[],
): (T & { paused?: true })[] {
  const paused = new Set(troubles.filter(({ code }) => code === 'paused').map(({ where }) => where.gateway))
  return gateways.map((gateway) => (paused.has(gateway.name) ? { ...gateway, paused: true } : gateway))
}

/** A time of day is clear for this long (ms). */
const CLEAR = 12 * HOUR

/** ` until 22:41 UTC`; empty for a pause without an end. */
function endOf({ since, until }: PauseReading): string {
  if (until === undefined) return ''
  return ` until ${until - since < CLEAR ? timeOfDay(until) : dayAndTime(until)}`
}

/** How many messages wait, and what the pause does. That of a skill depends on who runs it. */
function waitingText({ kind, waiting = 0, runs = 0, effect }: PauseReading): string {
  if (kind === 'schedule') return effect ?? 'Its planned times are skipped.'
  const count = waiting > 0 ? `${counted(waiting, 'message waits', 'messages wait')}.` : ''
  const ofRuns = runs > 0 ? heldRunsText(runs) : ''
  if (kind === 'skill')
    return [effect, ofRuns, count].filter(Boolean).join(' ') || 'All that starts it waits.'
  return count || 'No message waits yet; its messages are accepted, but wait.'
}

function whereOf({ kind, name }: PauseReading): Trouble['where'] {
  if (kind === 'gateway') return { gateway: name }
  return kind === 'skill' || kind === 'schedule' ? { [kind]: name } : { reason: name }
}
