import { isJsonObject } from '../../core/json.ts'
import { isRegex, patternText } from '../../core/pattern.ts'
import { createLogs, type LogQuery } from '../../features/transcript/logs.ts'
import { headOf } from '../../lib/head-of.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { shorten } from '../../lib/short-text.ts'
import {
  type AddCommand,
  type Environs,
  interruption,
  loadFor,
  timeOf,
  usage,
  wholeNumber,
} from '../command.ts'
import { locate } from '../data-dir.ts'

type Options = LogQuery & { events?: boolean }

/** `trivium history`: reads the log files, so it works with and without a daemon. */
export const addHistory: AddCommand = (program, context) => {
  program
    .command('history')
    .description('conversations on all channels; with --events, the operational trace')
    .option('--channel <glob>', 'only these channels (gateways)', patternOf('--channel'))
    .option('--grep <text>', 'only lines with this text, or /regex/', (text) =>
      isRegex(text) ? patternOf('--grep')(text) : text,
    )
    .option('--events', 'the operational trace (events.jsonl) instead of the conversation (messages.jsonl)')
    .option('--follow', 'keep following until interrupted')
    .option('--limit <n>', 'only the newest n lines, oldest first', wholeNumber('--limit'), 50)
    .option('--before <time>', 'only before this time; use the time of the first line to page back')
    .action(async ({ before, events, ...filter }: Options) => {
      const environs = context.environs()
      // Needs none of the variables of a running daemon, such as the secrets that routes.yaml names.
      const { dataDir } = await locate(environs)
      const logs = createLogs({ dir: dataDir })
      const query: LogQuery = {
        ...filter,
        ...(filter.follow && { signal: interruption() }),
        ...(before !== undefined && { before: new Date(timeOf('--before', before)).toISOString() }),
      }
      const terminal = context.terminal()
      let isEmpty = true
      for await (const entry of events ? logs.events(query) : logs.history(query)) {
        isEmpty = false
        terminal.out(`${terminal.json ? JSON.stringify(entry) : readable(entry)}\n`)
      }
      await logs.close()
      // On stderr, because programs may read the lines of stdout.
      if (isEmpty && !terminal.json && filter.limit !== 0)
        terminal.err(nothingFound(filter.channel, await gatewayNames(environs)))
    })
}

/** The names of the gateways; undefined if routes.yaml cannot be read. */
async function gatewayNames(environs: Environs): Promise<string[] | undefined> {
  const config = await loadFor(environs, { withoutVariables: 'except-store' }).catch(() => undefined)
  return config?.gateways.map(({ name }) => name)
}

function nothingFound(channel: string | undefined, names: readonly string[] | undefined): string {
  const isUnknown = names && channel !== undefined && /^[\w-]+$/.test(channel) && !names.includes(channel)
  return isUnknown
    ? `Nothing found. There is no gateway ${channel}.${didYouMean(channel, names)}\n`
    : 'Nothing found.\n'
}

function patternOf(flag: string): (text: string) => string {
  return (text) => {
    const { error } = patternText.safeParse(text)
    if (error) throw usage(`${flag}: ${error.issues[0]?.message}`, error)
    return text
  }
}

/**
 * `time  id  sender  channel  ← text`. A reply shows the id of the answered message, and its skill
 * as the sender. The time has milliseconds, because it may be the next `--before`.
 */
function readable({ time, channel, role, content, event, ...rest }: Record<string, unknown>): string {
  const at = String(time).slice(0, 23).replace('T', ' ')
  const place = String(channel ?? '-')
  if (event !== undefined) return `${at}  ${place}  ${event}  ${JSON.stringify(rest)}`
  const meta = isJsonObject(rest.meta) ? rest.meta : {}
  const isReply = role === 'assistant'
  const id = String((isReply ? meta.inReplyTo : meta.messageId) ?? '-')
  const sender = shorten(String((isReply ? meta.skill : meta.from) ?? '-'), 60)
  const text = headOf(String(content), 2_000).replaceAll('\n', '\n    ')
  return `${at}  ${id}  ${sender}  ${place}  ${isReply ? '→' : '←'} ${text}`
}
