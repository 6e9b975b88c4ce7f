import { type JsonObject, pathGet } from '../../core/json.ts'
import { OUTCOMES } from '../../core/message-query.ts'
import { defined } from '../../lib/defined.ts'
import { type AddCommand, interruption, wholeNumber } from '../command.ts'
import { readStream } from '../stream.ts'
import { paint, shorten, type Terminal } from '../terminal.ts'

/** How long (ms) a line waits for what becomes of its message; what comes later gets a line of its own. */
const PATIENCE = 1_000
/** Of so many messages that are not finished a later outcome is told. */
const MOST_OPEN = 10_000
const FINAL = new Set(['done', 'dead', 'dropped', 'merged', 'unrouted'])

/** `trivium tail`. */
export const addTail: AddCommand = (program, context) => {
  program
    .command('tail')
    .description('messages as they come in, one line each, until Ctrl-C')
    .option('--gateway <name>', 'only of this gateway')
    .option('--transport <name>', 'only of this transport')
    .option('--conversation <id>', 'only of this conversation')
    .option('--sender <text>', 'only where id, name or address has this part')
    .option('--text <text>', 'only where subject or text has this part')
    .option('--event <name>', 'only of this event')
    .option('--outcome <names>', `only with one of these: ${OUTCOMES.join(', ')}`)
    .option('--max <n>', 'end after so many', wholeNumber('--max'))
    .action(async ({ max, ...filter }: { max?: number } & Record<string, string>) => {
      const terminal = context.terminal()
      const ended = new AbortController()
      const signal = AbortSignal.any([interruption(), ended.signal])
      // Whoever reads has enough, as `head` does after ten lines.
      process.stdout.once('error', () => ended.abort())
      let told = 0
      const lines = createLines(terminal, () => {
        if (++told === max) ended.abort()
      })
      const reader = {
        event(name: string, data: JsonObject) {
          if (!ended.signal.aborted) lines.take(name, data)
        },
        gone: (reason: string) => terminal.err(`${reason}\n`),
      }
      const query = { ...defined(filter), only: 'message,outcome' }
      await readStream(context.environs(), query, reader, signal).finally(lines.close)
    })
}

/** Prints messages in the order in which they came. `printed` is called after each. */
function createLines(terminal: Terminal, printed: () => void) {
  type Line = { row: JsonObject; timer?: NodeJS.Timeout }
  /** Not printed yet, oldest first. */
  const waiting = new Map<string, Line>()
  /** Printed, and not finished. */
  const open = new Map<string, JsonObject>()

  const print = (line: string) => terminal.out(`${line}\n`)
  const printReady = () => {
    for (const [id, { row, timer }] of waiting) {
      if (timer !== undefined && !FINAL.has(String(row.outcome))) return
      clearTimeout(timer)
      waiting.delete(id)
      print(lineOf(row))
      printed()
      if (FINAL.has(String(row.outcome))) continue
      open.set(id, row)
      if (open.size > MOST_OPEN) open.delete(open.keys().next().value ?? '')
    }
  }
  const printNow = (name: string, data: JsonObject) => {
    print(JSON.stringify({ type: name, ...data }))
    if (name === 'message') printed()
  }

  return {
    take(name: string, data: JsonObject): void {
      if (terminal.json) {
        printNow(name, data)
        return
      }
      const id = String(data.id)
      if (name === 'gap') print(`… ${data.missed} more came too fast to be shown`)
      if (name === 'message') {
        const line: Line = { row: data }
        line.timer = setTimeout(() => {
          delete line.timer
          printReady()
        }, PATIENCE)
        waiting.set(id, line)
      }
      const row = waiting.get(id)?.row
      if (row && name === 'outcome') row.outcome = data.outcome ?? null
      const late = open.get(id)
      if (late && FINAL.has(String(data.outcome))) {
        open.delete(id)
        print(lineOf({ ...late, at: data.at ?? null, outcome: data.outcome ?? null }, '└'))
      }
      printReady()
    },
    close(): void {
      for (const line of waiting.values()) {
        clearTimeout(line.timer)
        delete line.timer
      }
      printReady()
    },
  }
}

const COLOURS: Record<string, 'green' | 'red' | 'yellow'> = {
  done: 'green',
  dead: 'red',
  retrying: 'yellow',
  approval: 'yellow',
}

/** `10:31:07  dead      support     Ada                 Invoice: where is it`. */
function lineOf({ at, gateway, from, event, subject, text, outcome }: JsonObject, mark = ''): string {
  const sender = pathGet(from, 'name') ?? pathGet(from, 'address') ?? pathGet(from, 'id')
  const said = [event && `[${event}]`, subject && `${subject}:`, text].filter(Boolean).join(' ')
  const word = String(outcome).padEnd(9)
  const colour = COLOURS[String(outcome)]
  const width = (process.stdout.columns || 200) - 55
  return [
    new Date(Number(at)).toTimeString().slice(0, 8),
    colour ? paint(colour, word) : word,
    shorten(String(gateway), 12).padEnd(12),
    shorten(String(sender), 20).padEnd(20),
    mark + shorten(said, Math.max(20, width)),
  ].join('  ')
}
