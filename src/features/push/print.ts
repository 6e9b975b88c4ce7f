import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { fields, type Printers, timeOf } from '../../core/readable.ts'
import { humanStartedJob } from '../../engine/print/jobs.ts'
import { counted } from '../../lib/counted.ts'
import { paint, stateText } from '../../lib/paint.ts'
import { table, tableOr } from '../../lib/text-table.ts'

export const printers: Printers = {
  'subscription-list': (result) => humanSubscriptions(objectsIn(result)),
  'subscription-show': humanSubscription,
  'subscription-create': humanSubscriptionChange,
  'subscription-update': humanSubscriptionChange,
  'subscription-delete': humanSubscriptionDeletion,
  'subscription-replay': humanStartedJob,
  'subscription-pause': humanPause('is paused: its events wait'),
  'subscription-resume': humanPause('is resumed; waiting events are tried at once'),
}

/** `subscription-list`. */
function humanSubscriptions(subscriptions: readonly JsonObject[]): string {
  return tableOr(
    'There are no push subscriptions. `trivium subscription create` makes one.',
    ['subscription', 'state', 'topic', 'queued', 'unread', 'dead', 'url', 'from'],
    subscriptions,
    ({ name, ok, state, detail, topic, queued, unread, dead, url, source }) => [
      name,
      stateText(ok, String(state), detail),
      topic,
      queued,
      unread,
      dead,
      url,
      source,
    ],
  )
}

/** `subscription-show`: the state of a subscription, then its last attempts, newest first. */
function humanSubscription(result: Json): string {
  const { attempts, ...subscription }: JsonObject = Object(result)
  const rows = objectsIn(attempts).map(({ at, event, attempt, ms, status, reason }) => [
    timeOf(at),
    event,
    attempt,
    ms,
    reason === undefined ? paint('green', String(status ?? 'ok')) : paint('red', String(reason)),
  ])
  const list =
    rows.length === 0 ? 'No attempts yet.' : table(['time', 'event', 'attempt', 'ms', 'result'], rows)
  return [fields(subscription), '', list].join('\n')
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

/** `subscription-pause` and `-resume`. */
function humanPause(predicate: string): (result: Json, args: JsonObject) => string {
  return (_result, args) => `The subscription ${args.name} ${predicate}.`
}
