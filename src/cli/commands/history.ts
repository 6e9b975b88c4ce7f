import { Option } from 'commander'
import { TriviumError } from '../../core/errors.ts'
import { isRegex, patternText } from '../../core/pattern.ts'
import { createLogs } from '../../features/transcript/logs.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { type AddCommand, type Environs, interruption, timeOf, usage, wholeNumber } from '../command.ts'
import { type Connection, connectOrRead } from '../connection.ts'
import { locate } from '../data-dir.ts'
import { searchIn } from '../extra-words.ts'
import { ENTRY_TITLES, entryRow } from '../history/entry-row.ts'
import { EVENT_TITLES, eventRow } from '../history/event-row.ts'
import type { HistoryFilter } from '../history/filter.ts'
import { followHistory } from '../history/follow-history.ts'
import { createLines } from '../history/lines.ts'
import { nothingFound, unknownConversation } from '../history/nothing-found.ts'
import { readHistory } from '../history/read-history.ts'
import { noteRange, readRange } from '../range-flags.ts'
import { fullId } from '../short-ids.ts'
import type { Terminal } from '../terminal.ts'

type Options = {
  gateway?: string
  channel?: string
  conversation?: string
  sender?: string
  person?: string
  search?: string
  grep?: string
  since?: string
  until?: string
  before?: string
  events?: true
  follow?: true
  limit: number
}

type Logs = ReturnType<typeof createLogs>

/** `trivium history`: reads the log files and the store, with and without a daemon. */
export const addHistory: AddCommand = (program, context) => {
  program
    .command('history')
    .description(
      'the transcript: messages that can be answered, and the answers of skills and people; with --events, the operational trace',
    )
    .argument('[words...]', 'the words of a search, as --search')
    .option('--gateway <glob>', 'only these gateways', patternOf('--gateway'))
    .option('--channel <glob>', 'the same as --gateway', patternOf('--channel'))
    .option('--conversation <id>', 'only this conversation')
    .option(
      '--sender <text>',
      'only what they wrote: part of the name or address of a sender, skill or person',
    )
    .addOption(new Option('--person <text>', 'the same as --sender').hideHelp())
    .option('--search <text>', 'only entries with this in the subject, text or a name, or /regex/', grepOf)
    .addOption(new Option('--grep <text>', 'the same as --search').argParser(grepOf).hideHelp())
    .option('--since <time>', 'only since a time, or an age such as 2h')
    .option('--until <time>', 'only before a time, or older than an age such as 2h')
    .option('--events', 'the operational trace (events.jsonl) instead of the transcript')
    .option('--follow', 'keep following until interrupted')
    .option('--limit <n>', 'only the newest n entries, oldest first', wholeNumber('--limit'), 50)
    .option('--before <time>', 'as --until; the command for older entries has it')
    .action(async (words: string[], flags: Options) => {
      const options = withWords(words, flags)
      // Needs none of the variables of a running daemon, such as the secrets that routes.yaml names.
      const environs = context.environs()
      const { dataDir } = await locate(environs)
      await using logs = disposable(createLogs({ dir: dataDir }))
      const show = options.events ? showEvents : showTranscript
      const shown = await show(logs, options, { environs, terminal: context.terminal() })
      const terminal = context.terminal()
      if (terminal.json || options.follow) return
      if (shown.older !== undefined)
        terminal.err(`${paragraph('', `Older ones: ${continuation(options, shown.older)}`)}\n`)
      // On stderr, because programs may read the lines of stdout.
      if (shown.count === 0 && options.limit !== 0)
        terminal.err(
          `${paragraph('', await nothingFound({ gateway: options.channel ?? options.gateway }, environs))}\n`,
        )
      const { search } = options
      if (search !== undefined && !isRegex(search) && !options.events && options.limit !== 0)
        terminal.err(`${paragraph('', othersWith(search))}\n`)
    })
}

/** Where the messages are that are not in the transcript, and may be about the same thing. */
function othersWith(search: string): string {
  return `Webhooks and others that nobody can answer are in ${commandText('message list --search', search)}.`
}

function disposable(logs: Logs): Logs & AsyncDisposable {
  return { ...logs, [Symbol.asyncDispose]: () => logs.close() }
}

/** The number of shown entries, and the time before which there are older ones. */
type Shown = { count: number; older?: string | undefined }
type Output = { environs: Environs; terminal: Terminal }

async function showTranscript(logs: Logs, options: Options, { environs, terminal }: Output): Promise<Shown> {
  const given = filterOf(options, terminal)
  const from = Date.now()
  const signal = options.follow ? interruption() : undefined
  const print = createLines(ENTRY_TITLES)
  const show = (entry: Parameters<typeof entryRow>[0]) =>
    terminal.out(`${terminal.json ? JSON.stringify(entry) : print(entryRow(entry))}\n`)
  const store = await openStore(environs, terminal)
  try {
    const filter = await withWholeConversation(given, store)
    const progress = (searchedTo: number) =>
      terminal.progress(`searched back to ${new Date(searchedTo).toISOString()} …`)
    const read = (one: HistoryFilter, limit: number) =>
      readHistory({ store, lines: logs.newestMessages().entries, progress }, one, limit).finally(() =>
        terminal.progress(''),
      )
    const { entries, more } = await read(filter, options.limit)
    const { conversation } = filter
    if (conversation !== undefined && entries.length === 0 && !options.follow) {
      const ofAllTime = await read({ conversation }, 1)
      const unknown = ofAllTime.entries.length === 0 && (await unknownConversation(conversation, store))
      if (unknown) throw unknown
    }
    for (const entry of entries) show(entry)
    if (signal) {
      // A store that this process opened would keep a daemon from starting.
      if (!store?.running) await store?.[Symbol.asyncDispose]()
      const daemon = store?.running ? store : undefined
      await followHistory(entries, { logs, store: daemon, filter, from, signal, show })
    }
    return { count: entries.length, older: more ? entries[0]?.time : undefined }
  } finally {
    await store?.[Symbol.asyncDispose]()
  }
}

/** Completes the name of a conversation, as other commands that only read do. */
async function withWholeConversation(
  filter: HistoryFilter,
  store: Connection | undefined,
): Promise<HistoryFilter> {
  const { channel, conversation } = filter
  if (conversation === undefined || store === undefined) return filter
  const gateway = channel !== undefined && /^[\w-]+$/.test(channel) ? { gateway: channel } : {}
  return { ...filter, conversation: await fullId(store, conversation, 'conversation', { args: gateway }) }
}

/** The store. Without it, messages.jsonl has most of the transcript. */
async function openStore(environs: Environs, terminal: Terminal): Promise<Connection | undefined> {
  try {
    return await connectOrRead(environs)
  } catch (error) {
    const why = error instanceof TriviumError ? error.message : String(error)
    terminal.err(
      `${paragraph('', `Messages that wait and answers that were not sent are left out, because the store cannot be read: ${why}`)}\n`,
    )
    return undefined
  }
}

async function showEvents(logs: Logs, options: Options, { terminal }: Output): Promise<Shown> {
  const { channel, grep, since, before } = filterOf(options, terminal)
  for (const flag of ['conversation', 'sender', 'person'] as const)
    if (options[flag] !== undefined) throw usage(`--${flag} is for the transcript: leave out --events`)
  const { limit, follow } = options
  const query = { ...defined({ channel, grep, since, before }), limit: follow ? limit : limit + 1 }
  const print = createLines(EVENT_TITLES)
  const show = (entry: Parameters<typeof eventRow>[0]) =>
    terminal.out(`${terminal.json ? JSON.stringify(entry) : print(eventRow(entry))}\n`)
  if (follow) {
    for await (const entry of logs.events({ ...query, follow, signal: interruption() })) show(entry)
    return { count: 1 }
  }
  const entries = await Array.fromAsync(logs.events(query))
  const more = entries.length > limit
  const page = more ? entries.slice(1) : entries
  for (const entry of page) show(entry)
  return { count: page.length, older: more ? page[0]?.time : undefined }
}

function filterOf(options: Options, terminal: Terminal): HistoryFilter {
  const {
    gateway,
    channel = gateway,
    conversation,
    person,
    sender = person,
    search,
    since,
    until,
    before,
  } = options
  const range = readRange(defined({ since, until }), { since: '--since', until: '--until' })
  noteRange(terminal, { since, until }, range)
  const ends = [
    ...(range.until === undefined ? [] : [timeOf('--until', range.until)]),
    ...(before === undefined ? [] : [timeOf('--before', before)]),
  ]
  const iso = (time: number) => new Date(time).toISOString()
  return defined({
    channel,
    conversation,
    sender,
    grep: search,
    since: range.since === undefined ? undefined : iso(timeOf('--since', range.since)),
    before: ends.length === 0 ? undefined : iso(Math.min(...ends)),
  })
}

/** The command for older entries: the same filters, before a time. */
function continuation({ until: _, before: __, ...options }: Options, before: string): string {
  const flags = Object.entries({ ...options, before }).flatMap(([name, value]) => {
    if (value === undefined || (name === 'limit' && value === 50)) return []
    return value === true ? [`--${name}`] : [`--${name}`, value]
  })
  return commandText('history', ...flags)
}

/** The options with the text to search as `search`: its words may have no flag, or `--grep`. */
function withWords(words: readonly string[], { grep, search = grep, ...options }: Options): Options {
  if (words.length === 0) return search === undefined ? options : { ...options, search }
  if (search !== undefined) throw usage('Give the words of the search once: with --search, or without.')
  return { ...options, search: grepOf(searchIn(words)) }
}

function grepOf(text: string): string {
  return isRegex(text) ? patternOf('--search')(text) : text
}

function patternOf(flag: string): (text: string) => string {
  return (text) => {
    const { error } = patternText.safeParse(text)
    if (error) throw usage(`${flag}: ${error.issues[0]?.message}`, error)
    return text
  }
}
