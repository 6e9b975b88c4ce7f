import { type JsonObject, objectsIn } from '../../core/json.ts'
import { behindText, groupsBehind } from '../../engine/print/group-backlog.ts'
import { markOf, titleWithAge, printers as troublePrinters } from '../../features/troubles/print.ts'
import { ageText } from '../../lib/age-text.ts'
import { heldText } from '../../lib/held-text.ts'
import { paint } from '../../lib/paint.ts'
import { lengthOf, longestOf } from '../../lib/paragraph.ts'
import { wholeText } from '../../lib/printed.ts'
import { age, shortId } from '../../lib/short-text.ts'
import { deadOf } from '../dead-of.ts'
import { gatewayRows } from '../gateway-rows.ts'
import { NOT_PULLED, workersNote } from '../road-note.ts'
import { commandOfTrouble } from './trouble-command.ts'

/**
 * What Enter opens: a text, the output of a command, or the output below the text. `trouble`: the
 * one that it is about.
 */
export type Target = { text?: () => string; command?: readonly string[]; trouble?: JsonObject }
/** A row that can be selected. `key` stays the same when other rows come and go. */
export type Row = { key: string; text: string; opens: Target }
export type Section = { title: string; rows: readonly Row[] }

/** The sections of the screen below the rates, problems first. */
export function sectionsOf(now: JsonObject): { troubles: Section; others: Section[] } {
  const all = (name: string) => objectsIn(now[name] ?? null)
  const others = [
    gatewaysOf(all('gateways')),
    runningOf(all('running')),
    roadsOf(all('roads')),
    groupsOf(all('groups'), new Set(all('subscriptions').map(({ name }) => name))),
  ]
  return {
    troubles: troublesOf(all('troubles')),
    others: others.filter(({ rows }) => rows.length > 0),
  }
}

function troublesOf(troubles: readonly JsonObject[]): Section {
  const rows = troubles.map((trouble) => {
    const [details = ''] = String(trouble.text).split('\n')
    const text = `${markOf(trouble)} ${titleWithAge(trouble)}: ${details.replaceAll(/\s+/g, ' ')}`
    const whole = () => wholeText(troublePrinters.troubles?.({ troubles: [trouble] }, {}) ?? '')
    return {
      key: `trouble ${trouble.id ?? trouble.title}`,
      text,
      opens: { text: whole, trouble, ...commandOfTrouble(trouble) },
    }
  })
  return { title: `Troubles ${troubles.length}`, rows }
}

/** The gateways, those with faults first. */
function gatewaysOf(gateways: readonly JsonObject[]): Section {
  const cells = gatewayRows(gateways)
  const rows = aligned(cells).map((text, at) => {
    const name = cells[at]?.[0] ?? ''
    return { key: `gateway ${name}`, text, opens: { command: ['gateway', 'show', name] } }
  })
  return { title: `Gateways ${gateways.length}`, rows }
}

/** The messages that run for longest, by route. */
function runningOf(running: readonly JsonObject[]): Section {
  const shown = running.filter(({ messageId }) => messageId !== undefined)
  const cells = shown.map(({ route, gateway, skill, since, messageId, count }) => [
    String(route ?? gateway),
    String(skill ?? '-'),
    `for ${age(since)}`,
    shortId(messageId),
    Number(count) > 1 ? `the longest of ${count}` : '',
  ])
  const rows = aligned(cells).map((text, at) => {
    const id = String(shown[at]?.messageId)
    return { key: `message ${id}`, text, opens: { command: ['message', 'show', id] } }
  })
  return { title: 'Running longest', rows }
}

/** The roads, with the same numbers as `status`. */
function roadsOf(roads: readonly JsonObject[]): Section {
  const cells = roads.map((each) => {
    const { road, oldestAt } = each
    const dead = deadOf(each) ?? 0
    const parts = [
      ...(road === 'receive' ? ofWorkers(each) : ofQueue(each)),
      ...(dead === 0 ? [] : [paint('red', `${dead} dead`)]),
      ...(typeof oldestAt === 'number' ? [`oldest ${age(oldestAt)}`] : []),
    ]
    return [String(road), parts.join(', ')]
  })
  const rows = aligned(cells).map((text, at) => {
    const road = cells[at]?.[0] ?? ''
    return { key: `road ${road}`, text, opens: { command: commandOf(road, roads[at] ?? {}) } }
  })
  return { title: 'Roads', rows }
}

/** Messages that no worker has pulled count as waiting only if workers use their gateway. */
function ofWorkers(each: JsonObject): string[] {
  return [workersNote(each) || NOT_PULLED, `${each.messages} kept`]
}

/** `messages` of a road is shown if it is not the sum of the other numbers. */
function ofQueue(each: JsonObject): string[] {
  const { messages, waiting, running } = each
  const inWork = Number(running ?? 0)
  const isSum = waiting !== undefined && Number(messages) - Number(waiting) <= inWork
  const held = heldText(each.held)
  return [
    ...(isSum ? [] : [`${messages} kept`]),
    ...(waiting === undefined ? [] : [held === '' ? `${waiting} waiting` : `${waiting} waiting (${held})`]),
    ...(inWork === 0 ? [] : [`${inWork} running`]),
  ]
}

/** The command that shows what is on a road. */
function commandOf(road: string, each: JsonObject): string[] {
  const push = /^push\/(.+)$/.exec(road)?.[1]
  if (push !== undefined) return ['subscription', 'show', push]
  if (road === 'schedules') return ['schedule', 'list']
  if (road === 'outbox') return ['dead-letter', 'list', '--queue', 'outbox']
  return road === 'dispatch' && (deadOf(each) ?? 0) > 0 ? ['dead-letter', 'groups'] : ['message', 'list']
}

/** The consumer groups and pushes that are behind, the furthest behind first. */
function groupsOf(groups: readonly JsonObject[], pushes: ReadonlySet<unknown>): Section {
  const behind = groupsBehind(groups)
  const cells = behind.map((each) => [
    String(each.group),
    `behind by ${behindText(each)}`,
    String(each.topic),
  ])
  const rows = aligned(cells).map((text, at) => {
    const name = String(behind[at]?.group)
    const command = [pushes.has(name) ? 'subscription' : 'group', 'show', name]
    return { key: `group ${behind[at]?.topic} ${name}`, text, opens: { command } }
  })
  return { title: `Groups behind ${behind.length}`, rows }
}

/** The cells of each row in a line, in columns. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => longestOf(rows.map((row) => row[column] ?? '')))
  return rows.map((row) =>
    row
      .map((text, column) => text + ' '.repeat((widths[column] ?? 0) - lengthOf(text)))
      .join('  ')
      .trimEnd(),
  )
}

/** `last hour`, or less after a start of the daemon. */
export function spanOf(points: readonly JsonObject[], now: unknown): string {
  const first = Number(points[0]?.at ?? now)
  return `last ${ageText(Math.max(0, Number(now) - first))}`
}
