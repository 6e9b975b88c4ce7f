import { isRegex, patternText } from '../../core/pattern.ts'
import { createLogs, type LogQuery } from '../../features/transcript/logs.ts'
import { didYouMean } from '../../lib/nearest.ts'
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
import { createHistoryLines } from '../history-lines.ts'

type Options = LogQuery & { events?: boolean }

/** `trivium history`: reads the log files, so it works with and without a daemon. */
export const addHistory: AddCommand = (program, context) => {
  program
    .command('history')
    .description(
      'the transcript: what people wrote to skills, and their answers; with --events, the operational trace',
    )
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
      const readable = createHistoryLines()
      let shown = 0
      let oldest: unknown
      for await (const entry of events ? logs.events(query) : logs.history(query)) {
        shown += 1
        oldest ??= entry.time
        terminal.out(`${terminal.json ? JSON.stringify(entry) : readable(entry)}\n`)
      }
      await logs.close()
      const isCut = shown > 0 && shown === filter.limit && !filter.follow
      if (isCut && !terminal.json) terminal.err(`Older ones: --before ${oldest}\n`)
      // On stderr, because programs may read the lines of stdout.
      if (shown === 0 && !terminal.json && filter.limit !== 0)
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
