import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { listTime, type Printers, timeOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { durationText } from '../../lib/duration-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint, stateText } from '../../lib/paint.ts'
import { lengthOf, paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { rowLines, withBelow, wrappedBelow } from '../../lib/row-lines.ts'
import { listAgo, listCount } from '../../lib/short-text.ts'
import { failedReloadLine, humanGateway, stateOfGateway } from './gateway.ts'
import { missingShards } from './missing-shards.ts'
import { humanTriedSecret } from './tried-secret.ts'

export const printers: Printers = {
  'gateway-list': (result) => humanGateways(objectsIn(result)),
  'gateway-show': humanGateway,
  'gateway-traffic': (result) => humanTraffic(objectsIn(result)),
  'gateway-reconnect': humanReconnection,
  'gateway-ack': humanReceipt('acknowledged'),
  'gateway-nack': humanReceipt('released'),
  'gateway-extend': humanReceipt('leased for longer'),
  'gateway-send': humanSend,
  'refused-try': humanTriedSecret,
}

/**
 * `gateway-list`: the failing ones first, then those that refuse deliveries, are paused or have a
 * warning.
 */
function humanGateways(gateways: readonly JsonObject[]): Printable {
  if (gateways.length === 0) return noData('No gateway runs.')
  const [{ failedReload } = {}] = gateways
  const notes = failedReload === undefined ? [] : [`\n${failedReloadLine(failedReload)}`]
  return withNotes(gatewayTable(gateways), ...notes)
}

function gatewayTable(gateways: readonly JsonObject[]): Printable {
  const inOrder = gateways.toSorted((a, b) => severityOf(b) - severityOf(a))
  const hasTraffic = inOrder.some(({ traffic }) => traffic !== undefined)
  const rowOf = (gateway: JsonObject, state: string) => [
    gateway.name,
    gateway.transport,
    ...(hasTraffic ? trafficCells(Object(gateway.traffic)) : []),
    state,
  ]
  const columns = hasTraffic ? COLUMNS : COLUMNS.filter((column) => !TRAFFIC.includes(column))
  const states = inOrder.map((gateway) => stateOfGateway(gateway))
  // The end of an error is often the part that matters, so it is not cut.
  const isBelow = inOrder.map(
    (gateway, at) => severityOf(gateway) > 0 && lengthOf(states[at] ?? '') > SHORT_STATE,
  )
  const short = rowLines(
    columns,
    inOrder.map((gateway, at) =>
      rowOf(gateway, (isBelow[at] && states[at]?.split(': ', 1)[0]) || (states[at] ?? '')),
    ),
  )
  const whole = inOrder.map((gateway, at) => rowOf(gateway, states[at] ?? ''))
  if (!short || !(process.stdout.columns > 0)) return lineTable(columns, whole)
  const below = states.map((state, at) =>
    isBelow[at] ? wrappedBelow(state.split(': ').slice(1).join(': ')) : [],
  )
  return withBelow(short, below)
}

/** Columns of the last hour. */
const TRAFFIC: readonly Column[] = [
  { title: 'last message' },
  { title: 'a minute', leftOut: 2 },
  { title: 'refused in 1 h', leftOut: 1 },
]
const COLUMNS: readonly Column[] = [
  { title: 'gateway' },
  { title: 'transport', leftOut: 3 },
  ...TRAFFIC,
  { title: 'state', least: 22 },
]
/** A longer state (characters) is below the row, so that it is never cut. */
const SHORT_STATE = 40

/** The traffic of the last hour, if it was asked for. */
function trafficCells({ lastAt, perMinute, refused, errorShare }: JsonObject): unknown[] {
  return [lastAt === undefined ? 'none' : listAgo(lastAt), perMinute ?? '', refusedText(refused, errorShare)]
}

function refusedText(refused: Json | undefined, share: Json | undefined): string {
  if (!(Number(refused) > 0)) return '0'
  return paint('red', `${listCount(refused)} (${(100 * Number(share)).toFixed(1)} %)`)
}

function severityOf({ ok, refuses, paused, warning }: JsonObject): number {
  if (ok === false) return 3
  if (refuses !== undefined) return 2
  return paused || warning !== undefined ? 1 : 0
}

/** `gateway-traffic`: the last hour of each gateway, or the history of one. */
function humanTraffic(gateways: readonly JsonObject[]): Printable {
  const [first] = gateways
  if (!first) return noData('No gateway runs.')
  if (isJsonObject(first.history)) return historyText(String(first.gateway), first.history)
  const titles = ['gateway', 'state', 'a minute', 'last hour', 'refused', 'last message']
  return lineTable(
    titles.map((title) => ({ title })),
    gateways.map(({ gateway, ok, perMinute, accepted, refused, errorShare, lastAt }) => [
      gateway,
      ok && errorShare === 1 ? paint('yellow', 'refuses all') : stateText(ok, 'ok', undefined),
      perMinute,
      accepted,
      refusedText(refused, errorShare),
      listTime(lastAt),
    ]),
  )
}

/** The spans of a history that are not empty, oldest first, and their sums. */
function historyText(gateway: string, history: JsonObject): Printable {
  const { from, width, countedTo, refusalsFrom } = history
  const series = [history.accepted, history.failed, history.refused].map((counts) =>
    Array.isArray(counts) ? counts.map(Number) : [],
  )
  const [accepted = []] = series
  const rows = accepted.flatMap((_, at) => {
    const counts = series.map((each) => each[at] ?? 0)
    if (counts.every((count) => count === 0)) return []
    return [
      [listTime(Number(from) + at * Number(width)), ...counts.map((count) => count.toLocaleString('en'))],
    ]
  })
  const sums = series.map((each) => each.reduce((sum, count) => sum + count, 0))
  const notes = [
    `${gateway}: ${counted(sums[0] ?? 0, 'message')}, ${sums[1]} of them failed, ${sums[2]} refused, in spans of ${durationText(Number(width))}.`,
    ...(countedTo === undefined ? [] : [`Messages before ${timeOf(countedTo)} are not counted.`]),
    ...(refusalsFrom === undefined ? [] : [`Refusals are known since ${timeOf(refusalsFrom)}.`]),
    ...missingShards(history),
  ]
  if (rows.length === 0) return noData(...notes)
  const titles = ['from', 'messages', 'failed', 'refused']
  const text = lineTable(
    titles.map((title) => ({ title })),
    rows,
  )
  return withNotes(text, ...notes.map((note) => paragraph('', note)))
}

/** `gateway-reconnect`. */
function humanReconnection(result: Json): string {
  const { name, transport, ok, detail } = Object(result)
  const state = [ok ? 'ok' : 'FAILING', detail].filter((part) => part !== undefined).join(', ')
  return `The gateway ${name} (${transport}) was connected again: ${state}.`
}

/** `gateway-ack`, `-nack` and `-extend`. */
function humanReceipt(participle: string): (result: Json, args: JsonObject) => string {
  return (result, { receipt }) =>
    pathGet(result, 'ok') === true
      ? `The message is ${participle}.`
      : `Nothing changed: the lease of receipt ${receipt} has ended, or there is no such receipt.`
}

/** `gateway-send`: whether it was sent, and otherwise where it is. */
function humanSend(result: Json): string {
  const { key, sent, duplicate, suppressed, at, state } = Object(result)
  const note = duplicate === true ? `The key ${key} was used before, so nothing is sent again. ` : ''
  if (at !== undefined)
    return paragraph(
      '',
      `${note}It is sent at ${at} (${state}). To cancel it: ${commandText('send cancel', key)}`,
    )
  if (suppressed !== undefined) return `${note}Not sent: ${suppressed}.`
  if (sent === true) return `${note}Sent${receiptOf(pathGet(result, 'receipt'))}.${refusedRecipients(result)}`
  return `${note}Not sent yet: it is in the outbox, and is tried for a day. Key: ${key}`
}

function receiptOf(receipt: unknown): string {
  const id = pathGet(receipt, 'id')
  return typeof id === 'string' ? ` as ${id}` : ''
}

/** The recipients that the server refused, one per line. */
function refusedRecipients(result: Json): string {
  const recipients = pathGet(result, 'receipt.data.recipients')
  if (!isJsonObject(recipients)) return ''
  const refused = Object.entries(recipients).filter(([, outcome]) => outcome !== 'sent')
  return refused.map(([address, outcome]) => `\n  ${address}: ${outcome}`).join('')
}
