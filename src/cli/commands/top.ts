import { type JsonObject, objectsIn } from '../../core/json.ts'
import { type AddCommand, interruption } from '../command.ts'
import { readStream } from '../stream.ts'
import { show } from '../terminal.ts'
import { type Shown, screenOf } from '../top/screen.ts'
import { createView } from '../top/view.ts'

/** The points of an hour: the daemon sends one every five seconds. */
const MAX_POINTS = 720

/** Interval (ms) at which an opened page is read again. */
const REFRESH_INTERVAL = 3_000

export const addTop: AddCommand = (program, context) => {
  program
    .command('top')
    .description(
      'live view of rates, troubles, gateways and roads; Enter opens one, ? shows the keys, q quits',
    )
    .action(async () => {
      const terminal = context.terminal()
      const ended = new AbortController()
      const shown: Shown = { points: [] }
      const isLive = terminal.isTerminal && !terminal.json
      const size = () => {
        const { columns: width = 100, rows = 24 } = process.stdout
        return { width, rows }
      }
      const view = createView({ shown, size, output: context.output, draw: () => screen?.draw() })
      const screen = isLive ? terminal.enterScreen(view.lines, () => ended.abort(), view.press) : undefined
      const reader = {
        event(name: string, data: JsonObject) {
          delete shown.outage
          if (name === 'history') shown.points = objectsIn(data.points)
          if (name === 'point') shown.points = [...shown.points, data].slice(-MAX_POINTS)
          if (name === 'now') shown.now = data
          screen?.draw()
          if (!screen && shown.now) ended.abort()
        },
        onBreak(reason: string) {
          shown.outage = reason
          screen?.draw()
        },
      }
      const signal = AbortSignal.any([interruption(), ended.signal])
      const refreshing = setInterval(() => void view.refresh(), REFRESH_INTERVAL)
      await readStream(context.environs(), { only: 'history,point,now' }, reader, signal).finally(() => {
        clearInterval(refreshing)
        screen?.leave()
      })
      if (!screen && shown.now) show(terminal, shown.now, () => screenOf(shown, size()).join('\n'))
    })
}
