import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { paint, table } from '../terminal.ts'
import { fields, timeOf } from './readable.ts'

/** `subscription-show`: the state of a subscription, then its last attempts, newest first. */
export function humanSubscription(result: Json): string {
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
export function humanSubscriptionChange(result: Json): string {
  const { name, created, secret } = Object(result)
  if (created === false) return `Push subscription ${name} already exists, with these settings.`
  const change = `${created ? 'Created' : 'Changed'} push subscription ${name}.`
  return secret === undefined ? change : `${change} Its signing secret, which is not shown again:\n${secret}`
}

/** `subscription-delete`. */
export function humanSubscriptionDeletion(result: Json): string {
  const { name, deleted, waiting, dead } = Object(result)
  const lost = `${counted(waiting, 'waiting event')} and ${counted(dead, 'dead letter')}`
  return deleted
    ? `Deleted push subscription ${name}, with ${lost}.`
    : `Would delete push subscription ${name}, with ${lost}.`
}
