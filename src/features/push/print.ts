import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { humanStartedJob } from '../../engine/print/jobs.ts'
import { pausedAnswer } from '../../engine/print/pause-note.ts'
import { pushState } from '../../engine/print/push-state.ts'
import { humanSubscription } from '../../engine/print/subscription.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText, shellWord } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { gapText } from '../../lib/gap-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { matchInWords } from '../../lib/match-words.ts'
import { newAndReplayed } from '../../lib/new-and-replayed.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { worstPushFirst } from '../../lib/push-order.ts'
import { listAge, shortId } from '../../lib/short-text.ts'
import { waitingState } from '../../lib/waiting-state.ts'

export const printers: Printers = {
  'subscription-list': (result) => humanSubscriptions(objectsIn(result)),
  'subscription-show': humanSubscription,
  'subscription-waiting': (result, args) => humanWaiting(Object(result), args),
  'subscription-create': humanSubscriptionChange,
  'subscription-update': humanSubscriptionChange,
  'subscription-delete': humanSubscriptionDeletion,
  'subscription-replay': humanStartedJob,
  'subscription-pause': (result) => pausedAnswer(result, { clause: 'Its events wait' }),
  'subscription-resume': humanChange('is resumed; waiting events are tried at once'),
  'subscription-retry': humanRetry,
}

const COLUMNS: readonly Column[] = [
  { title: 'subscription' },
  { title: 'state', least: 24 },
  { title: 'new' },
  { title: 'again', leftOut: 1 },
  { title: 'dead' },
  { title: 'filter', least: 16, leftOut: 2 },
  { title: 'topic', least: 15, leftOut: 5 },
  { title: 'url', least: 24, leftOut: 4 },
  { title: 'from', leftOut: 6 },
]

/** `subscription-list`: the failing ones first, then those whose attempts fail in part. */
function humanSubscriptions(subscriptions: readonly JsonObject[]): Printable {
  if (subscriptions.length === 0)
    return noData('There are no push subscriptions. `trivium subscription create` makes one.')
  const rows = worstPushFirst(subscriptions).map((each) => [
    each.name,
    pushState(each),
    newOf(each),
    each.replayed ?? '',
    each.dead,
    each.match === undefined ? 'none: all events' : matchInWords(Object(each.match)),
    each.topic,
    each.url,
    each.source,
  ])
  return lineTable(COLUMNS, rows)
}

/**
 * The events that will be sent for the first time; a replay sends the others again. An older daemon also
 * counts those that the filter leaves out.
 */
function newOf({ queued = 0, unread = 0, matching = unread, replayed = 0, more, ...push }: JsonObject): Json {
  const { waiting = Number(queued) + Number(matching) } = push
  const many = Math.max(0, Number(waiting) - Number(replayed))
  return more === true ? `${many}+` : many
}

const WAITING_COLUMNS: readonly Column[] = [
  { title: 'event' },
  { title: 'for', piped: 'since' },
  { title: 'state', least: 10 },
  { title: 'attempt', leftOut: 2 },
  { title: 'next', leftOut: 1, piped: 'next' },
  { title: 'error', least: 12, leftOut: 0 },
  { title: 'about', least: 16, leftOut: 3 },
  { title: 'replay', leftOut: 4 },
]

/** `subscription-waiting`. */
function humanWaiting(result: JsonObject, args: JsonObject = {}): Printable {
  const { name } = args
  const events = objectsIn(result.events)
  if (events.length === 0) return noData(nothingText(result, name))
  const rows = events.map(({ id, since, state, replayed, attempt, error, nextAt, held, text }) => [
    shortId(id),
    listAge(since),
    waitingState({ state, error }),
    attempt ?? '',
    nextText(nextAt, held),
    error ?? '',
    text ?? gapText(id) ?? '',
    replayed === true ? 'sent again' : '',
  ])
  return withNotes(lineTable(WAITING_COLUMNS, rows), ...cutNote(result, args), ...replayNote(result, args))
}

/** With `--only`, other events may wait. */
function nothingText({ waiting }: JsonObject, name: unknown): string {
  return Number(waiting) > 0
    ? `None of these waits. All that wait: ${commandText('subscription waiting', name)}`
    : `Nothing waits for ${name}.`
}

function nextText(at: unknown, held: unknown): string {
  if (held === 'failing') return 'once it answers'
  if (typeof at !== 'number') return ''
  const left = at - Date.now()
  return left > 0 ? `in ${ageText(left)}` : 'now'
}

/** How many of all are shown, and the command for the next page. */
function cutNote({ events, waiting, replayed, least, more, next }: JsonObject, args: JsonObject): string[] {
  if (more !== true) return []
  const { name, ...asked } = args
  const { only, after } = asked
  const shown = objectsIn(events).length
  const again = Number(replayed ?? 0)
  const many = only === 'replayed' ? again : Number(waiting) - (only === 'new' ? again : 0)
  const which = after === undefined ? 'The first' : 'Another'
  const count = `${which} ${shown} of ${least === true ? 'at least ' : ''}${many} events.`
  return [
    next === undefined
      ? count
      : `${count} More: ${commandAgain(`subscription waiting ${shellWord(name)}`, asked, { after: next })}`,
  ]
}

/** `60 new, 76 sent again by a replay. Only new ones: …`. */
function replayNote({ waiting, replayed }: JsonObject, { name, only }: JsonObject): string[] {
  if (replayed === undefined || only !== undefined) return []
  const news = commandText('subscription waiting', name, '--only', 'new')
  return [`${newAndReplayed(Number(waiting), Number(replayed))}. Only new ones: ${news}`]
}

/** `subscription-create` and `subscription-update`. */
function humanSubscriptionChange(result: Json): string {
  const { name, created, secret } = Object(result)
  if (created === false) return `Push subscription ${name} already exists, with these settings.`
  const change = `${created ? 'Created' : 'Changed'} push subscription ${name}.`
  return secret === undefined ? change : `${change} Its signing secret, which is not shown again:\n${secret}`
}

/** `subscription-delete`. */
function humanSubscriptionDeletion(result: Json): string {
  const { name, deleted, waiting, dead } = Object(result)
  const lost = `${counted(waiting, 'waiting event')} and ${counted(dead, 'dead letter')}`
  return deleted
    ? `Deleted push subscription ${name}, with ${lost}.`
    : `Would delete push subscription ${name}, with ${lost}.`
}

/** `subscription-retry`. */
function humanRetry(result: Json, { name }: JsonObject): string {
  return pathGet(result, 'waiting') === 0
    ? `The subscription ${name} has nothing to send. Its next event tries the receiver.`
    : `The subscription ${name} tries its failed events now.`
}

/** `subscription-resume`. */
function humanChange(predicate: string): (result: Json, args: JsonObject) => string {
  return (_result, args) => `The subscription ${args.name} ${predicate}.`
}
