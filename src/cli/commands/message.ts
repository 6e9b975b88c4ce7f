import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { OUTCOMES } from '../../core/message-query.ts'
import { attempt } from '../../lib/attempt.ts'
import { defined } from '../../lib/defined.ts'
import { parseExact } from '../../lib/exact-json.ts'
import { nearest } from '../../lib/nearest.ts'
import { pause } from '../../lib/pause.ts'
import { type AddCommand, EXIT_NOTHING, usage, wholeNumber } from '../command.ts'
import { ask, type Connection, connectOrOpenToSend } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { humanExplanation } from '../explanation.ts'
import { pausedBy } from '../paused-by.ts'
import { humanMessage } from '../printers/message.ts'
import { humanMessages } from '../printers/messages.ts'
import { pretty, type Terminal } from '../terminal.ts'

type SendOptions = {
  conversation?: string
  from?: string
  key?: string
  subject?: string
  event?: string
  data?: JsonObject
  wait: number
  explain?: true
  all?: true
}

/** `trivium message <gateway> <text>`, `message show <id>` and `message list`. */
export const addMessage: AddCommand = (program, context) => {
  const message = program
    .command('message')
    .description('submit a message as if it had arrived at a gateway, and print the reply; or show messages')
    .usage('<gateway> <text...> [options] | <command>')
    .enablePositionalOptions()

  const sending = message
    .command('send', { isDefault: true })
    .description('message <gateway> <text>: as if it had arrived there; prints the reply')
    .argument('<gateway>', 'a gateway of routes.yaml; `cli` always exists')
    .argument('<text...>', 'the text')
    .option('--conversation <id>', 'continue this conversation')
    .option('--from <id>', 'who writes')
    .option('--key <key>', 'idempotency key: the same key is accepted once')
    .option('--subject <text>', 'the subject')
    .option('--event <name>', 'the event, such as app_mention or push')
    .option('--data <json>', 'fields of the transport, as routes match them by `data.…`', jsonObject)
    .option('--wait <ms>', 'how long to wait for the reply', wholeNumber('--wait'), 60_000)
    .option('--explain', 'only explain which route would match; submits nothing')
    .option('--all', 'with --explain: every route, not only those that nearly match')
    .action(async (gateway: string, words: string[], { explain, all, event, ...options }: SendOptions) => {
      const conversation = `cli-${randomUUID()}`
      const data = defined({ ...options.data, event: event ?? options.data?.event })
      const submission = { gateway, text: words.join(' '), conversation, ...options, data }
      if (explain) {
        const human = (explained: Json) => humanExplanation(explained, defined({ all }))
        return ask(context, (daemon) => daemon.explain(submission), human)
      }
      // The same key each time, so that it is accepted once however often it is sent.
      const { key = randomUUID() } = options
      const send = async (daemon: Connection) => {
        const answered = new AbortController()
        void tellRetries(daemon, submission, answered.signal, context.terminal().err)
        const result = await daemon.submit({ ...submission, key }).finally(() => answered.abort())
        const outcome = pathGet(result, 'outcome')
        if (outcome === 'failed') context.exit(1)
        else if (options.wait > 0 && outcome === undefined) context.exit(EXIT_NOTHING)
        // It was sent once; that the daemon had it already is the doing of this command.
        const told = options.key === undefined ? { ...Object(result), duplicate: false } : result
        if (outcome === undefined && options.wait > 0) return withPause(daemon, told, submission)
        return outcome === 'unrouted' && gateway === 'cli' ? withHelp(daemon, told) : told
      }
      await sendPatiently(() => ask(context, send, replyText, connectOrOpenToSend)).catch(
        (error: unknown) => {
          const near = nearest(gateway, ['show', 'list'])
          const isUnknown = error instanceof TriviumError && error.code === 'gateway_not_found'
          if (!isUnknown || near === undefined) throw error
          throw usage(`${error.message} Did you mean the command trivium message ${near}?`, error)
        },
      )
    })

  showDefault(message, sending)

  message
    .command('show')
    .description('a message and its history on the three roads')
    .argument('<id>', 'the message id')
    .action((id: string) => ask(context, (daemon) => daemon.invoke('message-show', { id }), humanMessage))

  filtered(message.command('list'))
    .description('the newest messages, or the matches of a search')
    .option('--since <time>', 'since a time (2026-11-21T10:00:00Z), or an age (2h)')
    .option('--until <time>', 'before a time, or older than an age (2h)')
    .option('--before <id>', 'older than this message')
    .option('--limit <n>', 'how many', wholeNumber('--limit'), 20)
    .action((args: SearchArgs) =>
      ask(context, (daemon) => searchAll(daemon, args, context.terminal()), humanMessages),
    )
}

/** How often a message is sent that meets a daemon which stops, or starts again. */
const MOST_SENDS = 3
/** What a message is answered that meets such a daemon: refused, cut off while it waited, or not reached any more. */
const PASSING: ReadonlySet<string> = new Set(['stopping', 'cancelled', 'not_running'])

/** Sends again when the daemon went away: the next connection waits for its end. */
async function sendPatiently(send: () => Promise<void>): Promise<void> {
  for (let sends = 1; ; sends++) {
    try {
      return await send()
    } catch (error) {
      const isPassing = error instanceof TriviumError && PASSING.has(error.code)
      if (!isPassing || sends === MOST_SENDS) throw error
    }
  }
}

function jsonObject(text: string): JsonObject {
  const value = attempt(() => parseExact(text))
  if (!isJsonObject(value))
    throw usage(`--data: expected a JSON object such as {"event":"push"}, not ${text}`)
  return value
}

/** Adds the options to filter messages. */
export function filtered(command: Command): Command {
  return command
    .option('--gateway <name>', 'only from this gateway')
    .option('--transport <kind>', 'only from this transport')
    .option('--conversation <id>', 'only from this conversation')
    .option('--event <name>', 'only with this event name of webhooks or Slack')
    .option('--sender <text>', 'only if id, name or address contains this')
    .option('--text <text>', 'only if subject or text contains this')
    .option('--search <words>', 'as in the console: from:ada status:dead after:2h "some words"')
    .option('--outcome <names>', `outcomes, separated by commas: ${OUTCOMES.join(',')}`)
}

type SearchArgs = { limit: number; before?: string }

/** A page may end early in a large journal; the next one continues. */
async function searchAll(daemon: Connection, args: SearchArgs, terminal: Terminal): Promise<Json> {
  const messages: JsonObject[] = []
  for (let page: JsonObject = defined({ next: args.before }); ; ) {
    const limit = Math.min(500, args.limit - messages.length)
    const given = { ...args, ...defined({ before: page.next }), limit }
    page = Object(await daemon.invoke('message-search', given))
    messages.push(...objectsIn(page.messages))
    if (page.next === undefined || messages.length >= args.limit) return { ...page, messages }
    terminal.progress(
      `${messages.length} found, back to ${new Date(Number(page.searchedTo)).toISOString()} …`,
    )
  }
}

/** Adds the available commands for a person whose message has no route. */
async function withHelp(daemon: Connection, result: Json): Promise<Json> {
  const help = await daemon.invoke('assistant-help', {}).catch(() => null)
  const text = pathGet(help, 'text')
  return typeof text === 'string' ? { ...Object(result), help: text } : result
}

async function withPause(
  daemon: Connection,
  result: Json,
  at: { gateway: string; conversation: string },
): Promise<Json> {
  const id = pathGet(result, 'id')
  const paused = typeof id === 'string' ? await pausedBy(daemon, { id, ...at }) : undefined
  return { ...Object(result), ...defined({ paused }) }
}

/** Polling interval (ms) for the state of the message. */
const LOOK_EVERY = 1_000

async function tellRetries(
  daemon: Connection,
  { gateway, conversation }: { gateway: string; conversation: string },
  signal: AbortSignal,
  err: (text: string) => void,
): Promise<void> {
  const told = new Set<string>()
  while (true) {
    await pause(LOOK_EVERY, signal)
    if (signal.aborted) return
    // Best effort: the answer reports errors.
    const list = await daemon.invoke('message-list', { gateway, conversation, limit: 1 }).catch(() => null)
    const id = objectsIn(list)[0]?.id
    const why = typeof id === 'string' && (await pausedBy(daemon, { id, gateway, conversation }))
    if (why && !signal.aborted && !told.has(why)) err(`${why}\n`)
    if (why) told.add(why)
    const shown = id && (await daemon.invoke('message-show', { id }).catch(() => null))
    for (const { at, what, detail } of objectsIn(pathGet(shown, 'history'))) {
      const { attempt, error, delay } = Object(detail)
      if (signal.aborted || delay === undefined || told.has(`${id} ${at}`)) continue
      told.add(`${id} ${at}`)
      err(`${what}, attempt ${attempt}: ${error} (again in ${Math.round(delay / 100) / 10} s)\n`)
    }
  }
}

/** The replies as text; without replies, the state of the message. */
function replyText(result: Json): string {
  const texts = objectsIn(pathGet(result, 'replies')).map((reply) => String(reply.text ?? pretty(reply)))
  if (texts.length > 0) return texts.join('\n')
  const id = String(pathGet(result, 'id'))
  const silent = pathGet(result, 'noReply')
  const why: Record<string, string> = {
    done: `The skill ran and sent no reply${typeof silent === 'string' ? `: ${silent}` : ''}.`,
    failed: `It failed; see: trivium dead-letter show ${id}`,
    unrouted: `No route matches it; see: trivium routes explain ${id}`,
  }
  const outcome = String(pathGet(result, 'outcome'))
  const help = pathGet(result, 'help')
  const more = typeof help === 'string' ? `\n\n${help}` : ''
  const late = String(pathGet(result, 'paused') ?? 'There was no reply in time.')
  return `Accepted as ${id}. ${why[outcome] ?? late}${more}`
}
