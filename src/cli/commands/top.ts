import { type JsonObject, jsonObjectSchema, objectsIn, pathGet } from '../../core/json.ts'
import { type AddCommand, interruption } from '../command.ts'
import { readStream } from '../stream.ts'
import { age, paint, show, table } from '../terminal.ts'
import { gatewayTable, groupsBehind } from './status.ts'

/** What is shown: the standing, the points of the last hour, and why nothing comes any more. */
type Shown = { now?: JsonObject; points: JsonObject[]; gone?: string }

const HOUR_OF_POINTS = 720
const BARS = ' ▁▂▃▄▅▆▇█'

/** `trivium top`. */
export const addTop: AddCommand = (program, context) => {
  program
    .command('top')
    .description('what happens now, live: rates, roads, gateways and what is wrong; q ends it')
    .action(async () => {
      const terminal = context.terminal()
      const ended = new AbortController()
      const shown: Shown = { points: [] }
      const lines = () => screenOf(shown, process.stdout.columns || 100)
      const isLive = terminal.isTerminal && !terminal.json
      const screen = isLive ? terminal.enterScreen(lines, () => ended.abort()) : undefined
      const reader = {
        event(name: string, data: JsonObject) {
          delete shown.gone
          if (name === 'history') shown.points = objectsIn(data.points)
          if (name === 'point') shown.points = [...shown.points, data].slice(-HOUR_OF_POINTS)
          if (name === 'now') shown.now = data
          screen?.draw()
          if (!screen && shown.now) ended.abort()
        },
        gone(reason: string) {
          shown.gone = reason
          screen?.draw()
        },
      }
      const signal = AbortSignal.any([interruption(), ended.signal])
      await readStream(context.environs(), { only: 'history,point,now' }, reader, signal).finally(
        screen?.leave,
      )
      if (!screen && shown.now) show(terminal, shown.now, () => lines().join('\n'))
    })
}

/** The lines of the screen: what is wrong stands first. */
function screenOf({ now, points, gone }: Shown, width: number): string[] {
  if (!now) return [gone ?? 'Connecting …']
  if (now.error !== undefined) return [paint('red', 'The store does not answer:'), String(now.error)]
  const all = (name: string) => objectsIn(now[name])
  const rates = jsonObjectSchema.parse(now.rates ?? {})
  const bar = (name: string) =>
    sparkline(
      points.map((point) => Number(pathGet(point, name) ?? 0)),
      Math.min(60, width - 30),
    )
  const rate = (name: string) => `${name.padEnd(9)} ${String(rates[name] ?? 0).padStart(9)}/s  ${bar(name)}`
  const roads = all('roads').map(({ road, messages, waiting, running, dead, oldestAt }) => {
    const bad = Number(dead) > 0 ? paint('red', String(dead)) : '-'
    return [road, messages, waiting ?? '-', running ?? '-', bad, age(oldestAt)]
  })
  const groups = groupsBehind(all('groups')).slice(0, 5)
  const text = [
    `${paint('bold', 'Trivium')} ${now.daemon} · ${now.store} store · ${new Date(Number(now.at)).toTimeString().slice(0, 8)}`,
    gone ? paint('red', gone) : '',
    ...wrong(now, all),
    ...['accepted', 'done', 'failed', 'sent', 'refused'].map(rate),
    '',
    table(['road', 'messages', 'waiting', 'running', 'dead', 'oldest'], roads, width),
    '',
    gatewayTable(all('gateways')),
    ...(groups.length > 0 ? ['', paint('bold', 'Groups'), ...groups] : []),
  ]
  return text.flatMap((line) => line.split('\n'))
}

function wrong(now: JsonObject, all: (name: string) => JsonObject[]): string[] {
  const count = (path: string) => Number(pathGet(now, path) ?? 0)
  const error = pathGet(now, 'configuration.error')
  const lines = [
    error && `configuration: the last good one stays in force; ${String(error).split('\n')[0]}`,
    count('deadLetters.total') > 0 &&
      `${count('deadLetters.total')} dead letters: trivium dead-letters groups`,
    count('approvals') > 0 &&
      `${count('approvals')} wait for a decision: trivium approval-list --status pending`,
    ...all('subscriptions')
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) => `push ${name}: ${detail}`),
  ].filter((line) => typeof line === 'string')
  return lines.length > 0 ? [...lines.map((line) => `${paint('yellow', '!')} ${line}`), ''] : []
}

/** The newest on the right, a column for as many points as it takes to fit; as high as the highest. */
function sparkline(values: number[], width: number): string {
  const size = Math.max(1, Math.ceil(values.length / width))
  const columns = Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    Math.max(...values.slice(at * size, (at + 1) * size)),
  )
  const most = Math.max(...columns, 0)
  return columns.map((value) => BARS[most > 0 ? Math.ceil((value / most) * (BARS.length - 1)) : 0]).join('')
}
