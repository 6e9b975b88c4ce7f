import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { humanStartedJob } from '../../engine/print/jobs.ts'
import { pausedAnswer } from '../../engine/print/pause-note.ts'
import { pushState } from '../../engine/print/push-state.ts'
import { humanSubscription } from '../../engine/print/subscription.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { matchInWords } from '../../lib/match-words.ts'
import { noData, type Printable } from '../../lib/printed.ts'

export const printers: Printers = {
  'subscription-list': (result) => humanSubscriptions(objectsIn(result)),
  'subscription-show': humanSubscription,
  'subscription-create': humanSubscriptionChange,
  'subscription-update': humanSubscriptionChange,
  'subscription-delete': humanSubscriptionDeletion,
  'subscription-replay': humanStartedJob,
  'subscription-pause': (result) => pausedAnswer(result, { clause: 'Its events wait' }),
  'subscription-resume': humanChange('is resumed; waiting events are tried at once'),
  'subscription-retry': humanChange('tries its failed events now'),
}

const COLUMNS: readonly Column[] = [
  { title: 'subscription' },
  { title: 'state', least: 16 },
  { title: 'queued' },
  { title: 'unread' },
  { title: 'dead' },
  { title: 'filter', least: 24 },
  { title: 'topic', least: 15, leftOut: 2 },
  { title: 'url', least: 24, leftOut: 1 },
  { title: 'from', leftOut: 3 },
]

/** `subscription-list`: the failing ones first, then those whose attempts fail in part. */
function humanSubscriptions(subscriptions: readonly JsonObject[]): Printable {
  if (subscriptions.length === 0)
    return noData('There are no push subscriptions. `trivium subscription create` makes one.')
  const inOrder = subscriptions.toSorted((a, b) => severityOf(b) - severityOf(a))
  const rows = inOrder.map((each) => [
    each.name,
    pushState(each),
    each.queued,
    each.unread,
    each.dead,
    each.match === undefined ? 'none: all events' : matchInWords(Object(each.match)),
    each.topic,
    each.url,
    each.source,
  ])
  return lineTable(COLUMNS, rows)
}

function severityOf({ ok, state, errors }: JsonObject): number {
  if (!ok) return 3
  if (errors !== undefined) return 2
  return state === 'active' ? 0 : 1
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

/** `subscription-resume` and `subscription-retry`. */
function humanChange(predicate: string): (result: Json, args: JsonObject) => string {
  return (_result, args) => `The subscription ${args.name} ${predicate}.`
}
