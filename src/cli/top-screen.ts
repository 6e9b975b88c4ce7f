import { type JsonObject, jsonObjectSchema, objectsIn, pathGet } from '../core/json.ts'
import { gatewayTable, groupsBehind } from './commands/status.ts'
import { age, paint, table } from './terminal.ts'

/** The last state, the points of the last hour, and why the daemon no longer responds. */
export type Shown = { now?: JsonObject; points: JsonObject[]; gone?: string }

type Size = { width: number; rows: number }

const BARS = ' ▁▂▃▄▅▆▇█'

/**
 * The lines of the screen, problems first. Problems are wrapped to the width, and take at most half
 * of the rows.
 */
export function screenOf({ now, points, gone }: Shown, { width, rows }: Size): string[] {
  if (!now) return [gone ?? 'Connecting …']
  if (now.error !== undefined) return [paint('red', 'The store does not answer:'), String(now.error)]
  const all = (name: string) => objectsIn(now[name])
  const rates = jsonObjectSchema.parse(now.rates ?? {})
  const bar = (name: string) =>
    sparkline(
      points.map((point) => Number(pathGet(point, name) ?? 0)),
      Math.max(8, Math.min(60, width - 24)),
    )
  const rate = (name: string) => `${name.padEnd(9)} ${String(rates[name] ?? 0).padStart(9)}/s  ${bar(name)}`
  const roadRows = all('roads').map(({ road, messages, waiting, running, dead, oldestAt }) => {
    const bad = Number(dead) > 0 ? paint('red', String(dead)) : '-'
    return [road, messages, waiting ?? '-', running ?? '-', bad, age(oldestAt)]
  })
  const groups = groupsBehind(all('groups')).slice(0, 5)
  const text = [
    `${paint('bold', 'Trivium')} ${now.daemon} · ${now.store} store · ${new Date(Number(now.at)).toTimeString().slice(0, 8)}`,
    ...(gone ? [paint('red', gone), ''] : []),
    ...faultLines(faults(now), width, Math.floor(rows / 2)),
    ...['accepted', 'done', 'failed', 'sent', 'refused'].map(rate),
    '',
    table(['road', 'messages', 'waiting', 'running', 'dead', 'oldest'], roadRows, width),
    '',
    gatewayTable(all('gateways'), [], { width }),
    ...(groups.length > 0 ? ['', paint('bold', 'Groups'), ...groups] : []),
  ]
  return text.flatMap((line) => line.split('\n'))
}

/** The server's list of troubles, each with its title and details. */
function faults(now: JsonObject): string[] {
  return objectsIn(now.troubles).map(({ title, text }) => `${title}: ${String(text).split('\n')[0]}`)
}

/** Shows at least the first line of as many problems as fit; a last line counts the others. */
function faultLines(found: readonly string[], width: number, room: number): string[] {
  if (found.length === 0) return []
  const fits = found.length <= room
  const shown = fits ? found : found.slice(0, Math.max(1, room - 1))
  let spare = room - shown.length - (fits ? 0 : 1)
  const lines = shown.flatMap((fault) => {
    const wrapped = wrap(fault.replaceAll(/\s+/g, ' '), width - 2)
    const kept = wrapped.slice(0, 1 + Math.max(0, spare))
    spare -= kept.length - 1
    const cut = kept.length < wrapped.length
    return kept.map((line, at) => {
      const text = cut && at === kept.length - 1 ? `${line.slice(0, width - 3)}…` : line
      return at === 0 ? `${paint('yellow', '!')} ${text}` : `  ${text}`
    })
  })
  const more = fits ? [] : [`  … and ${found.length - shown.length} more: trivium troubles`]
  return [...lines, ...more, '']
}

/** Wraps a text between words, and within words longer than a line. */
function wrap(text: string, width: number): string[] {
  const most = Math.max(8, width)
  const lines: string[] = []
  let rest = text
  while (rest.length > most) {
    const space = rest.lastIndexOf(' ', most)
    const end = space > 0 ? space : most
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

/** The newest point is on the right. Each column shows the maximum of its points. */
function sparkline(values: number[], width: number): string {
  const size = Math.max(1, Math.ceil(values.length / width))
  const columns = Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    Math.max(...values.slice(at * size, (at + 1) * size)),
  )
  const most = Math.max(...columns, 0)
  return columns.map((value) => BARS[most > 0 ? Math.ceil((value / most) * (BARS.length - 1)) : 0]).join('')
}
