import { isJsonObject, type Json, type JsonObject, pathGet } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { timeOf } from './readable.ts'

/** `route-pause` and other pauses. */
export function humanPause(result: Json): string {
  const { kind, name, until, drop, reason } = Object(pathGet(result, 'pause'))
  const end = until === undefined ? `until \`trivium ${kind} resume ${name}\`` : `until ${timeOf(until)}`
  const why = reason === undefined ? '' : ` Reason: ${reason}.`
  const what =
    drop === true ? 'Its messages are recorded as handled by a person' : 'Its messages are accepted and wait'
  return `The ${kind} ${name} is paused. ${what}, ${end}.${why}`
}

/** `route-resume` and other resumes. */
export function humanResume(kind: string): (result: Json, args: JsonObject) => string {
  return (result, args) =>
    pathGet(result, 'existed') === true
      ? `The ${kind} ${args[kind]} is no longer paused.`
      : `The ${kind} ${args[kind]} was not paused.`
}

/** `message-retry`. */
export function humanRetryNow(result: Json): string {
  return `The next attempt on message ${pathGet(result, 'id')} begins now.`
}

/** `schedule-run`. With a repeated key, nothing was run. */
export function humanRun(result: Json): string {
  const { id, key, repeated } = Object(result)
  if (repeated === true)
    return `The schedule ${id} has already run with the key ${key}; nothing was run again.`
  return `The schedule ${id} runs now (key ${key}).`
}

/** `schedule-pause` and `schedule-resume`. */
export function humanSchedulePause(result: Json): string {
  const { id, paused } = Object(result)
  if (paused === true)
    return `The schedule ${id} is paused: it does not run until \`trivium schedule resume ${id}\`.`
  return `The schedule ${id} continues at its next planned time.`
}

/** `schedule-create`. */
export function humanSchedule(result: Json): string {
  const { id, name, skill, next, paused } = Object(result)
  const isPaused = isJsonObject(paused) || paused === true
  const isKnown = next !== undefined || paused !== undefined
  const when = isPaused ? 'paused' : `next at ${timeOf(next)}`
  return `The schedule ${id} (${name}) runs ${skill}${isKnown ? `; ${when}` : ''}.`
}

/** `…-delete`, for what `what` names. */
export function humanDeletion(what: string): (result: Json, args: JsonObject) => string {
  return (result, args) =>
    pathGet(result, 'existed') === false
      ? `There was no ${what} ${args.id ?? args.name ?? args.key}.`
      : `The ${what} ${args.id ?? args.name ?? args.key} is deleted.`
}

/** `gateway-ack`, `-nack` and `-extend`. */
export function humanReceipt(participle: string): (result: Json, args: JsonObject) => string {
  return (result, { receipt }) =>
    pathGet(result, 'ok') === true
      ? `The message is ${participle}.`
      : `Nothing changed: the lease of receipt ${receipt} has ended, or there is no such receipt.`
}

/** `refused-try`: whether the secret fits. */
export function humanTriedSecret(result: Json): string {
  const { ok, fits, tried, reason } = Object(result)
  const verdict =
    ok === true ? 'The secret fits this delivery' : `The secret does not fit this delivery: ${reason}`
  return `${verdict} (${fits} of ${tried} kept deliveries).`
}

/** `subscription-pause` and `-resume`. */
export function humanSubscription(predicate: string): (result: Json, args: JsonObject) => string {
  return (_result, args) => `The subscription ${args.name} ${predicate}.`
}

/** `dead-letter-retry` and `-drop`, for one or all matching dead letters. */
export function humanLetterAction(
  participle: 'retried' | 'dropped',
): (result: Json, args: JsonObject) => string {
  return (result, args) => {
    const count = pathGet(result, 'count')
    const more = pathGet(result, 'more') === true ? ' There are more: run it again.' : ''
    const text = humanLetterCount(participle, typeof count === 'number' ? count : 1)
    return args.id === undefined ? text + more : text
  }
}

/** The number of dead letters that were retried or dropped. */
export function humanLetterCount(participle: 'retried' | 'dropped', count: number): string {
  const letters = counted(count, 'dead letter')
  if (participle === 'dropped') return `${letters} dropped.`
  return `${letters} ${count === 1 ? 'waits' : 'wait'} to be tried again.`
}

/** `message-resend`. */
export function humanResend(result: Json): string {
  const { id, resends } = Object(result)
  return `Accepted again as ${id}; it is answered where ${resends} came from.`
}

/** `message-replay`, and `route replay`. */
export function humanReplay(found: Json, args: JsonObject): string {
  const { seen, routed, routes, unrouted, answered, more } = Object(found)
  const lines = Object.entries(Object(routes)).map(([route, count]) => `  ${count} to ${route}`)
  return [
    `${counted(seen, 'message')} looked at, ${routed} ${args.dryRun ? 'would be ' : ''}routed, ${unrouted} still without a route.`,
    ...lines,
    ...(answered > 0 ? [`${answered} left out: a worker has already answered.`] : []),
    ...(more > 0 ? [`${more} more, newer than these: run it again.`] : []),
  ].join('\n')
}

/** `gateway-reconnect`. */
export function humanGateway(result: Json): string {
  const { name, transport, ok, detail } = Object(result)
  const state = [ok ? 'ok' : 'FAILING', detail].filter((part) => part !== undefined).join(', ')
  return `The gateway ${name} (${transport}) was connected again: ${state}.`
}
