import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { TriviumError } from '../../core/errors.ts'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  jsonObjectSchema,
  objectsIn,
  pathGet,
} from '../../core/json.ts'
import { messages } from '../../engine/operations/messages.ts'
import { humanMessage } from '../../engine/print/message.ts'
import { humanMessages } from '../../engine/print/messages.ts'
import { attempt } from '../../lib/attempt.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { parseExact } from '../../lib/exact-json.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { retriedSinceFilter } from '../../lib/retried-since.ts'
import { type AddCommand, type CommandContext, EXIT_NOTHING, milliseconds, usage } from '../command.ts'
import { ask, type Connection, connectOrOpen, connectOrOpenToSend } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { humanExplanation } from '../explanation.ts'
import { refuseMistypedVerb } from '../mistyped-verb.ts'
import { withBudget, withOwnAttempt, withSkills } from '../next-attempt.ts'
import { runsOperation } from '../operation-command.ts'
import { pausedBy, pausedByStore, waitsForBudget } from '../paused-by.ts'
import { reportAttempts } from '../report-attempts.ts'
import { VIEW_OPTION, withView } from '../saved-view.ts'
import { searchPages } from '../search-pages.ts'
import { fullId } from '../short-ids.ts'
import { pretty } from '../terminal.ts'
import { withAttempts } from '../with-attempts.ts'

type SendOptions = {
  conversation?: string
  from?: string
  key?: string
  subject?: string
  event?: string
  data?: JsonObject
  test?: true
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
    .option('--test', 'mark it as a test in lists, as *Test message* of the console does')
    .option('--wait <ms or duration>', 'how long to wait for the reply', milliseconds('--wait'), 60_000)
    .option('--explain', 'only explain which route would match; submits nothing')
    .option('--all', 'with --explain: every route, not only those that nearly match')
    .action(async (gateway: string, words: string[], { explain, all, event, ...options }: SendOptions) => {
      const conversation = `cli-${randomUUID()}`
      const data = defined({ ...options.data, event: event ?? options.data?.event })
      const submission = { gateway, text: words.join(' '), conversation, ...options, data }
      if (explain) {
        const human = (explained: Json) => humanExplanation(explained, defined({ all }))
        return ask(context, (daemon) => daemon.explain(submission), human, connectOrOpen)
      }
      // Each try after a restart sends the same key, so that the message is accepted once, and the
      // same request, so that it is not a duplicate of itself.
      const { key = randomUUID() } = options
      const request = randomUUID()
      const send = async (daemon: Connection) => {
        await refuseMistypedVerb(message, [gateway, words[0]], daemon, context.environs())
        const paused = options.wait > 0 ? await pausedByStore(daemon) : undefined
        const submitted = { ...submission, key, request, ...(paused !== undefined && { wait: 0 }) }
        const answered = new AbortController()
        const isOwnKey = options.key !== undefined
        const { err } = context.terminal()
        void reportAttempts(daemon, submitted, { isOwnKey, signal: answered.signal, err })
        const result = await daemon.submit(submitted).finally(() => answered.abort())
        const outcome = pathGet(result, 'outcome')
        const isLate = options.wait > 0 && outcome === undefined
        if (outcome === 'failed') context.exit(1)
        else if (isLate) context.exit(EXIT_NOTHING)
        if (paused !== undefined) return { ...Object(result), paused }
        if (isLate)
          return withPause(daemon, { ...Object(result), ...(options.test && { test: true }) }, submission)
        return outcome === 'unrouted' && gateway === 'cli' ? withHelp(daemon, result) : result
      }
      await retryAfterRestart(() => ask(context, send, replyText, connectOrOpenToSend))
    })

  showDefault(message, sending)

  message
    .command('show')
    .description('a message and its history on the three roads')
    .argument('<id>', 'the message id, or its end as in the lists')
    .option('--full', 'at a terminal, the whole text instead of its first lines')
    .option('--headers', 'the headers of its delivery, too')
    .action((id: string, detail: { full?: true; headers?: true }) =>
      ask(
        context,
        async (daemon) => {
          const found = await daemon.invoke('message-show', { id: await fullId(daemon, id) })
          const shown = await withOwnAttempt(daemon, found)
          return context.terminal().json ? shown : withSkills(daemon, await withBudget(daemon, shown))
        },
        (found) => humanMessage(found, detail),
      ),
    )

  addList(message, context)
}

/** `message list`. */
function addList(message: Command, context: CommandContext): void {
  const list = message
    .command('list')
    .description('the newest messages, or the matches of a search')
    .option('--all', 'all that match, without a limit')
    .option(...VIEW_OPTION)
  runsOperation(list, context, {
    operation: 'message-search',
    args: messages.search,
    human: humanMessages,
    async run(daemon, given) {
      const { all, view } = list.opts<{ all?: true; view?: string }>()
      const args = await withView(daemon, 'messages', view, given)
      const limit = all ? Number.POSITIVE_INFINITY : Number(args.limit)
      const found = await searchPages(daemon, { ...args, limit }, context.terminal())
      return withRetried(daemon, await withAttempts(daemon, found, args), args)
    },
  })
}

/** Adds to a list of failed messages how many others were tried again since. */
async function withRetried(daemon: Connection, found: Json, args: JsonObject): Promise<Json> {
  const filter = retriedSinceFilter(args)
  if (!filter) return found
  const { limit: _, before: _before, ...others } = filter
  const counted = await daemon
    .invoke('message-histogram', { ...jsonObjectSchema.parse(others), buckets: 1 })
    .catch(() => null)
  const retriedSince = pathGet(counted, 'total')
  return { ...Object(found), ...defined({ retriedSince }) }
}

/** Maximum number of attempts to send a message while the daemon stops or restarts. */
const MAX_SENDS = 3
/**
 * The errors during a stop or restart: the message was refused, its wait was cut off, or the daemon
 * was not reached any more.
 */
const RESTART_ERRORS: ReadonlySet<string> = new Set(['stopping', 'cancelled', 'not_running'])

/**
 * Sends again if the daemon stopped or restarted. The next connection waits until a stopping daemon
 * has ended.
 */
async function retryAfterRestart(send: () => Promise<void>): Promise<void> {
  for (let sends = 1; ; sends++) {
    try {
      return await send()
    } catch (error) {
      const isRestart = error instanceof TriviumError && RESTART_ERRORS.has(error.code)
      if (!isRestart || sends === MAX_SENDS) throw error
    }
  }
}

function jsonObject(text: string): JsonObject {
  const value = attempt(() => parseExact(text))
  if (!isJsonObject(value))
    throw usage(`--data: expected a JSON object such as {"event":"push"}, not ${text}`)
  return value
}

/** Adds the available commands for a person whose message has no route. */
async function withHelp(daemon: Connection, result: Json): Promise<Json> {
  const help = await daemon.invoke('assistant-help', {}).catch(() => null)
  const text = pathGet(help, 'text')
  return typeof text === 'string' ? { ...Object(result), help: text } : result
}

/** Adds why the message waits, if something is paused or its budget is used up. */
async function withPause(
  daemon: Connection,
  result: Json,
  at: { gateway: string; conversation: string },
): Promise<Json> {
  const id = pathGet(result, 'id')
  const paused =
    typeof id === 'string'
      ? ((await pausedBy(daemon, { id, ...at })) ?? (await waitsForBudget(daemon, id)))
      : undefined
  return { ...Object(result), ...defined({ paused }) }
}

/** The replies as text; without replies, the state of the message. */
function replyText(result: Json): string {
  const texts = objectsIn(pathGet(result, 'replies')).map((reply) => String(reply.text ?? pretty(reply)))
  if (texts.length > 0) return texts.join('\n')
  const id = String(pathGet(result, 'id'))
  const noReply = pathGet(result, 'noReply')
  const reasons: Record<string, string> = {
    done: `The skill ran and sent no reply${typeof noReply === 'string' ? `: ${noReply}` : ''}.`,
    failed: `It failed; see: \`trivium dead-letter show ${id}\``,
    unrouted: `No route matches it; see: \`trivium route explain ${id}\``,
  }
  const outcome = String(pathGet(result, 'outcome'))
  const help = pathGet(result, 'help')
  const helpText = typeof help === 'string' ? `\n\n${help}` : ''
  const stop =
    pathGet(result, 'test') === true ? ` ${commandText('run cancel', id, '--drop')} ends the test.` : ''
  const timeoutReason = `${pathGet(result, 'paused') ?? 'There was no reply in time.'}${stop}`
  return `${paragraph('', `Accepted as ${id}. ${reasons[outcome] ?? timeoutReason}`)}${helpText}`
}
