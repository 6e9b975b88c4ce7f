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

/** `schedule-run`; a repeated key has not run anything. */
export function humanRun(result: Json): string {
  const { id, key, repeated } = Object(result)
  if (repeated === true)
    return `The schedule ${id} has already run with the key ${key}; nothing was run again.`
  return `The schedule ${id} runs now (key ${key}).`
}

export function humanSchedulePause(result: Json): string {
  const { id, paused } = Object(result)
  if (paused === true)
    return `The schedule ${id} is paused: its times pass until \`trivium schedule resume ${id}\`.`
  return `The schedule ${id} goes on with its next planned time.`
}

export function humanSchedule(result: Json): string {
  const { id, name, skill, next, paused } = Object(result)
  const when = isJsonObject(paused) || paused === true ? 'paused' : `next at ${timeOf(next)}`
  return `The schedule ${id} (${name}) runs ${skill}${next === undefined && paused === undefined ? '' : `; ${when}`}.`
}

export function humanDeletion(what: string): (result: Json, args: JsonObject) => string {
  return (result, args) =>
    pathGet(result, 'existed') === false
      ? `There was no ${what} ${args.id ?? args.name ?? args.key}.`
      : `The ${what} ${args.id ?? args.name ?? args.key} is deleted.`
}

/** `gateway-ack`, `-nack` and `-extend`. */
export function humanReceipt(done: string): (result: Json, args: JsonObject) => string {
  return (result, { receipt }) =>
    pathGet(result, 'ok') === true
      ? `The message is ${done}.`
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
export function humanSubscription(done: string): (result: Json, args: JsonObject) => string {
  return (_result, args) => `The subscription ${args.name} ${done}.`
}

/** `dead-letter-retry` and `-drop`, for one or all matching dead letters. */
export function humanLettersDone(done: 'retried' | 'dropped'): (result: Json, args: JsonObject) => string {
  return (result, args) => {
    const count = pathGet(result, 'count')
    const more = pathGet(result, 'more') === true ? ' There are more: run it again.' : ''
    return lettersDone(done, typeof count === 'number' ? count : 1) + (args.id === undefined ? more : '')
  }
}

export function lettersDone(done: 'retried' | 'dropped', count: number): string {
  const what = counted(count, 'dead letter')
  if (done === 'dropped') return `${what} dropped.`
  return `${what} ${count === 1 ? 'waits' : 'wait'} to be tried again.`
}

export function humanResend(result: Json): string {
  const { id, resends } = Object(result)
  return `Accepted again as ${id}; it is answered where ${resends} came from.`
}

/** `message-replay`, and `routes replay`. */
export function humanReplay(found: Json, args: JsonObject): string {
  const { seen, routed, routes, unrouted, more } = Object(found)
  const lines = Object.entries(Object(routes)).map(([route, count]) => `  ${count} to ${route}`)
  return [
    `${counted(seen, 'unrouted message')} looked at, ${routed} ${args.dryRun ? 'would be ' : ''}routed, ${unrouted} still without a route.`,
    ...lines,
    ...(more > 0 ? [`${more} more, newer than these: run it again.`] : []),
  ].join('\n')
}

export function humanGateway(result: Json): string {
  const { name, transport, ok, detail } = Object(result)
  return `The gateway ${name} (${transport}) was connected again: ${ok ? 'ok' : 'FAILING'}${detail === undefined ? '' : `, ${detail}`}.`
}
