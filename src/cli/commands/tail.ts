import { type JsonObject, pathGet } from '../../core/json.ts'
import { messageFilter } from '../../engine/operations/messages.ts'
import { defined } from '../../lib/defined.ts'
import { paint } from '../../lib/paint.ts'
import { pause } from '../../lib/pause.ts'
import { shorten } from '../../lib/short-text.ts'
import { type AddCommand, interruption, wholeNumber } from '../command.ts'
import { connect } from '../connection.ts'
import { requireKnownNames } from '../known-names.ts'
import { operationFlags } from '../operation-command.ts'
import { readStream } from '../stream.ts'
import type { Terminal } from '../terminal.ts'

/** How long (ms) a line waits for the outcome of its message. A later outcome gets its own line. */
const OUTCOME_WAIT = 1_000
/** Maximum number of unfinished messages whose outcomes are tracked. */
const MAX_TRACKED = 10_000
/** Outcomes after which a message is no longer tracked. */
const FINAL = new Set(['done', 'dead', 'dropped', 'merged', 'unrouted', 'undelivered', 'suppressed'])

export const addTail: AddCommand = (program, context) => {
  const command = program.command('tail')
  const { read } = operationFlags(command, messageFilter, ['since', 'until'])
  command
    .description('print messages as they arrive, one line each, until Ctrl-C')
    .option(
      '--match <json>',
      'only messages that match this, with the match keys of a route: {"data.body.kind":"invoice"}',
    )
    .option('--max <n>', 'stop after this many messages', wholeNumber('--max'))
    .action(async ({ max, match, ...options }: { max?: number; match?: string }) => {
      const filter = read(options)
      const terminal = context.terminal()
      const environs = context.environs()
      await requireKnownNames('message-search', filter, await connect(environs), environs)
      const ended = new AbortController()
      const signal = AbortSignal.any([interruption(), ended.signal])
      // The reader has closed the pipe, as `head` does after ten lines.
      process.stdout.once('error', () => ended.abort())
      const lines = createLines(terminal, max, () => ended.abort())
      const reader = {
        event(name: string, data: JsonObject) {
          if (!ended.signal.aborted) lines.take(name, data)
        },
        onBreak: (reason: string) => terminal.err(`${reason}\n`),
      }
      const texts = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]))
      const query = { ...texts, ...defined({ match }), only: 'message,outcome' }
      await readStream(environs, query, reader, signal).finally(lines.close)
    })
}

/** Prints messages in order of arrival, at most `max`; calls `end` after the last. */
function createLines(terminal: Terminal, max: number | undefined, end: () => void) {
  /** Unfinished messages by id. `ready` prints a line immediately. */
  const open = new Map<string, { row: JsonObject; ready: AbortController; isPrinted: boolean }>()
  const ended = new AbortController()
  const print = (line: string) => terminal.out(`${line}\n`)
  /** Settles when all lines so far are printed: keeps the order of arrival. */
  let printed = Promise.resolve()
  let left = max ?? Number.POSITIVE_INFINITY
  if (left === 0) end()
  const printMessage = (line: string) => {
    if (left === 0) return
    print(line)
    left -= 1
    if (left === 0) end()
  }

  const takeMessage = (row: JsonObject) => {
    const line = { row, ready: new AbortController(), isPrinted: false }
    open.set(String(row.id), line)
    const [oldest] = open.keys()
    if (open.size > MAX_TRACKED && oldest !== undefined) open.delete(oldest)
    if (FINAL.has(String(row.outcome))) line.ready.abort()
    const waited = pause(OUTCOME_WAIT, AbortSignal.any([line.ready.signal, ended.signal]))
    printed = printed.then(async () => {
      await waited
      printMessage(lineOf(line.row))
      line.isPrinted = true
    })
  }
  const takeOutcome = ({ id, at = null, outcome = null }: JsonObject) => {
    const line = open.get(String(id))
    if (!line) return
    if (!line.isPrinted) line.row.outcome = outcome
    if (!FINAL.has(String(outcome))) return
    open.delete(String(id))
    line.ready.abort()
    if (line.isPrinted) print(lineOf({ ...line.row, at, outcome }, '└'))
  }

  return {
    take(name: string, data: JsonObject): void {
      if (terminal.json) {
        const line = JSON.stringify({ type: name, ...data })
        if (name === 'message') printMessage(line)
        else print(line)
      } else if (name === 'gap') print(`… ${data.missed} more arrived too fast to show`)
      else if (name === 'message') takeMessage(data)
      else takeOutcome(data)
    },
    /** Prints all waiting lines. */
    async close(): Promise<void> {
      ended.abort()
      await printed
    },
  }
}

const COLOURS: Record<string, 'green' | 'red' | 'yellow'> = {
  done: 'green',
  dead: 'red',
  retrying: 'yellow',
  approval: 'yellow',
}

/** Widths in characters. */
const OUTCOME_WIDTH = 9
const GATEWAY_WIDTH = 12
const SENDER_WIDTH = 20
const MIN_CONTENT_WIDTH = 20
/** A time, three columns, the gaps between them, and space for a mark. */
const WIDTH_BEFORE_CONTENT = 55
/** The width of a line if the output is not a terminal. */
const WIDTH_OF_PIPE = 200

/** `10:31:07  dead      support     Ada                 Invoice: where is it`. */
function lineOf(
  { at, gateway, from, event, subject, summary, text, outcome }: JsonObject,
  mark = '',
): string {
  const sender = pathGet(from, 'name') ?? pathGet(from, 'address') ?? pathGet(from, 'id')
  const content = [event && `[${event}]`, subject && `${subject}:`, summary ?? text].filter(Boolean).join(' ')
  const paddedOutcome = String(outcome).padEnd(OUTCOME_WIDTH)
  const colour = COLOURS[String(outcome)]
  const contentWidth = (process.stdout.columns || WIDTH_OF_PIPE) - WIDTH_BEFORE_CONTENT
  return [
    new Date(Number(at)).toTimeString().slice(0, 8),
    colour ? paint(colour, paddedOutcome) : paddedOutcome,
    shorten(String(gateway), GATEWAY_WIDTH).padEnd(GATEWAY_WIDTH),
    shorten(String(sender), SENDER_WIDTH).padEnd(SENDER_WIDTH),
    mark + shorten(content, Math.max(MIN_CONTENT_WIDTH, contentWidth)),
  ].join('  ')
}
