import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { paint, stateText } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { pausedText, pauseNote } from './pause-note.ts'
import { causeText } from './refusals.ts'

/** `gateway-show`: the state of a gateway, its traffic, then what is wrong and its last checks. */
export function humanGateway(result: Json): string {
  const gateway: JsonObject = Object(result)
  const { name, transport, scheme, pause, daemon, failedReload } = gateway
  const signed = scheme === undefined ? '' : `, verified by ${scheme}`
  const refusals = objectsIn(gateway.refusals).map(causeText)
  return [
    `${paint('bold', String(name))}  ${transport}${signed}`,
    paragraph('', connectionOf(gateway)),
    ...(failedReload === undefined ? [] : [failedReloadLine(failedReload)]),
    ...(isJsonObject(pause) ? [pauseNote({ kind: 'gateway', ...pause })] : []),
    ...secretLines(gateway.secrets),
    paragraph('', trafficText(Object(gateway.traffic))),
    ...(isJsonObject(gateway.pulled) ? [paragraph('', pulledText(gateway.pulled))] : []),
    ...(refusals.length > 0 ? ['', ...refusals] : []),
    '',
    checksText(gateway.checks),
    '',
    paragraph('', `(refusals: in the memory of ${daemon})`),
  ].join('\n')
}

/** That what was changed in the files is not in force, and why. */
export function failedReloadLine(failedReload: Json): string {
  return paragraph('', paint('red', String(failedReload)))
}

/** `Workers: 3 messages not pulled, oldest 5 min, last pull 20 s ago by token:printer.` */
function pulledText({ messages, more, oldestAt, at, by }: JsonObject): string {
  const count = `${messages}${more === true ? '+' : ''} message${messages === 1 && !more ? '' : 's'}`
  const oldest = oldestAt === undefined ? '' : `, oldest ${age(oldestAt)}`
  return `Workers: ${count} not pulled${oldest}, last pull ${age(at)} ago by ${shownAuthor(by)}.`
}

/** `Secret: verify.secret in routes.yaml, line 15, from STRIPE_SECRET`. */
function secretLines(secrets: Json | undefined): string[] {
  return objectsIn(secrets).map(({ setting, file, line, variables }) => {
    const names = Array.isArray(variables) ? variables.map(String) : []
    const from = names.length > 0 ? `, from ${names.join(', ')} (.env or the environment)` : ''
    const place = line === undefined ? file : `${file}, line ${line}`
    return paragraph('', `Secret: ${setting} in ${place}${from}.`)
  })
}

/**
 * Whether the gateway works and accepts, and since when. A pause has a line of its own: it began at
 * another time.
 */
function connectionOf(gateway: JsonObject): string {
  const { ok, since, detail, warning, refuses, changed, recovered } = gateway
  const detailText = detail === undefined ? '' : `: ${detail}`
  if (refuses !== undefined) {
    const first = objectsIn(gateway.refusals).map((one) => Number(one.since))
    return `${paint('yellow', 'refuses')} ${refuses}${sinceText(Math.min(...first))}${detailText}`
  }
  if (changed !== undefined) {
    const { at } = Object(objectsIn(gateway.refusals).find((one) => one.changed !== undefined)?.changed)
    const when = at === undefined ? '' : ` (${age(at)} ago)`
    return `${stateText(ok, 'ok', undefined)}, ${changed}${when}${detailText}`
  }
  // `since` is left out: the gateway was connected before it accepted deliveries again.
  if (recovered !== undefined) {
    const last = Math.max(...objectsIn(gateway.refusals).map((one) => Number(one.last)))
    const refusal = Number.isFinite(last)
      ? `; the last refusal was at ${timeOf(last)} (${age(last)} ago)`
      : ''
    return `${stateText(ok, 'ok', undefined)}, ${recovered}${refusal}${detailText}`
  }
  const state = `${stateText(ok, 'ok', undefined)}${sinceText(since)}${detailText}`
  return warning === undefined ? state : `${state}, ${paint('yellow', 'warning')}: ${warning}`
}

function sinceText(since: Json | undefined): string {
  return Number.isFinite(since) ? ` since ${timeOf(since)} (${age(since)})` : ''
}

/** The state of a gateway in a few words. */
export function stateOfGateway({
  ok,
  detail,
  refuses,
  changed,
  recovered,
  warning,
  paused,
  pause,
}: JsonObject): string {
  if (refuses !== undefined) return `${paint('yellow', 'refuses')} ${refuses}`
  if (ok && paused) return pause === undefined ? paint('yellow', 'paused') : pausedText(Object(pause))
  if (ok && warning !== undefined) return `${paint('yellow', 'warning')}: ${warning}`
  if (ok && changed !== undefined) return `${stateText(ok, 'ok', undefined)}, ${changed}`
  if (ok && recovered !== undefined) return `${stateText(ok, 'ok', undefined)}, ${recovered}`
  return stateText(ok, 'ok', detail)
}

/** Without a known message of the gateway: that there is none, or since when at least. */
function noMessage(searchedTo: Json | undefined): string {
  return searchedTo === undefined ? 'none is retained' : `none since ${timeOf(searchedTo)}`
}

function trafficText({ lastAt, searchedTo, perMinute, accepted, refused, errorShare }: JsonObject): string {
  const last = typeof lastAt === 'number' ? `${timeOf(lastAt)} (${age(lastAt)} ago)` : noMessage(searchedTo)
  const share = Number(refused) > 0 ? ` (${(100 * Number(errorShare)).toFixed(1)} %)` : ''
  const hour = `${accepted} accepted and ${refused} refused${share} in the last hour`
  return `Last message: ${last}; ${perMinute} a minute, ${hour}.`
}

function checksText(checks: unknown): string {
  const found = objectsIn(checks)
  const rows = found.map(({ ok, warning, name, detail, at }) => {
    const passed = warning === true ? paint('yellow', '!') : paint('green', '✓')
    const mark = ok === true ? passed : paint('red', '✗')
    // The refusals are described above.
    if (isOfRefusals(name)) return [mark, name, 'now', `${String(detail).split(':', 1)[0]}, see above`]
    return [mark, name, `${age(at)} ago`, detail]
  })
  const hasRun = found.some(({ name }) => !isOfRefusals(name))
  const note = paragraph('', 'Not checked since the start of the daemon: `trivium doctor` checks it.')
  return [
    ...(rows.length > 0 ? [table(['', 'check', 'when', ''], rows)] : []),
    ...(hasRun ? [] : [note]),
  ].join('\n')
}

/** Whether a check is about the deliveries of the last hour, and not about the provider. */
function isOfRefusals(name: unknown): boolean {
  return String(name).endsWith(': deliveries')
}
