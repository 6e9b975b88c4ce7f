import { type JsonObject, jsonObjectSchema, objectsIn, pathGet } from '../core/json.ts'
import { markOf, titleWithAge } from '../features/troubles/print.ts'
import { paint } from '../lib/paint.ts'
import { age } from '../lib/short-text.ts'
import { table } from '../lib/text-table.ts'
import { deadOf, gatewayTable, groupsBehind } from './commands/status.ts'

/** The last state, the points of the last hour, and why the daemon no longer responds. */
export type Shown = { now?: JsonObject; points: JsonObject[]; outage?: string }

type Size = { width: number; rows: number }

const BARS = ' ▁▂▃▄▅▆▇█'
/** Limits of the width of a sparkline, in characters. */
const MIN_BAR = 8
const MAX_BAR = 60
/** Width of the name and the rate before a sparkline. */
const WIDTH_BEFORE_BAR = 24
const MAX_GROUPS = 5

/**
 * The lines of the screen, problems first. Problems are wrapped to the width, and take at most half
 * of the rows.
 */
export function screenOf({ now, points, outage }: Shown, { width, rows }: Size): string[] {
  if (!now) return [outage ?? 'Connecting …']
  if (now.error !== undefined) return [paint('red', 'The store does not answer:'), String(now.error)]
  const all = (name: string) => objectsIn(now[name])
  const rates = jsonObjectSchema.parse(now.rates ?? {})
  const bar = (name: string) =>
    sparkline(
      points.map((point) => Number(pathGet(point, name) ?? 0)),
      Math.max(MIN_BAR, Math.min(MAX_BAR, width - WIDTH_BEFORE_BAR)),
    )
  const rateLine = (name: string) =>
    `${name.padEnd(9)} ${String(rates[name] ?? 0).padStart(9)}/s  ${bar(name)}`
  const roadRows = all('roads').map((each) => {
    const { road, messages, waiting, running, leased, oldestAt } = each
    const dead = deadOf(each) ?? 0
    const deadCell = dead > 0 ? paint('red', String(dead)) : '-'
    return [road, messages, waiting ?? '-', running ?? leased ?? '-', deadCell, age(oldestAt)]
  })
  const groups = groupsBehind(all('groups')).slice(0, MAX_GROUPS)
  const sections = [
    `${paint('bold', 'Trivium')} ${now.daemon} · ${now.store} store · ${new Date(Number(now.at)).toTimeString().slice(0, 8)}`,
    ...(outage ? [paint('red', outage), ''] : []),
    ...problemLines(problemsIn(now), width, Math.floor(rows / 2)),
    ...['accepted', 'done', 'failed', 'sent', 'refused'].map(rateLine),
    '',
    table(['road', 'messages', 'waiting', 'running', 'dead', 'oldest'], roadRows, width),
    '',
  ]
  const above = sections.flatMap((section) => section.split('\n'))
  const below = groups.length > 0 ? ['', paint('bold', 'Groups'), ...groups] : []
  const room = rows - above.length - below.length
  return [...above, ...gatewayLines(all('gateways'), width, room), ...below]
}

/** As many gateways as fit into `rows`, at least one; then a last line counts the others. */
function gatewayLines(gateways: readonly JsonObject[], width: number, rows: number): string[] {
  for (let maxRows = gateways.length; ; maxRows--) {
    const lines = gatewayTable(gateways, [], { width, maxRows }).split('\n')
    if (lines.length <= rows || maxRows <= 2) return lines
  }
}

/** A trouble as `trouble list` marks it, with its title, age and details. */
type Problem = { mark: string; text: string }

function problemsIn(now: JsonObject): Problem[] {
  return objectsIn(now.troubles).map((trouble) => {
    const [details] = String(trouble.text).split('\n')
    return { mark: markOf(trouble), text: `${titleWithAge(trouble)}: ${details}` }
  })
}

/** Shows at least the first line of as many problems as fit; a last line counts the others. */
function problemLines(all: readonly Problem[], width: number, rows: number): string[] {
  if (all.length === 0) return []
  const allFit = all.length <= rows
  const shown = allFit ? all : all.slice(0, Math.max(1, rows - 1))
  /** Rows that are left for second and further lines of problems. */
  let spareRows = rows - shown.length - (allFit ? 0 : 1)
  const lines = shown.flatMap(({ mark, text: problem }) => {
    const wrapped = wrap(problem.replaceAll(/\s+/g, ' '), width - 2)
    const visible = wrapped.slice(0, 1 + Math.max(0, spareRows))
    spareRows -= visible.length - 1
    const isCut = visible.length < wrapped.length
    return visible.map((line, index) => {
      const text = isCut && index === visible.length - 1 ? `${line.slice(0, width - 3)}…` : line
      return index === 0 ? `${mark} ${text}` : `  ${text}`
    })
  })
  const more = allFit ? [] : [`  … and ${all.length - shown.length} more: \`trivium trouble list\``]
  return [...lines, ...more, '']
}

/** Wraps a text between words, and within words longer than a line. */
function wrap(text: string, width: number): string[] {
  const limit = Math.max(8, width)
  const lines: string[] = []
  let rest = text
  while (rest.length > limit) {
    const space = rest.lastIndexOf(' ', limit)
    const end = space > 0 ? space : limit
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

/** A line of bars, the newest on the right. Each column shows the maximum of its points. */
function sparkline(values: number[], width: number): string {
  const pointsPerColumn = Math.max(1, Math.ceil(values.length / width))
  const columns = Array.from({ length: Math.ceil(values.length / pointsPerColumn) }, (_, index) =>
    Math.max(...values.slice(index * pointsPerColumn, (index + 1) * pointsPerColumn)),
  )
  const highest = Math.max(...columns, 0)
  const heightOf = (value: number) => (highest > 0 ? Math.ceil((value / highest) * (BARS.length - 1)) : 0)
  return columns.map((value) => BARS[heightOf(value)]).join('')
}
