import { defined } from '../../lib/defined.ts'
import { createLogs, type LogQuery } from '../../state/logs/logs.ts'
import { type AddCommand, usage, wholeNumber } from '../command.ts'
import { loadFor } from '../environs.ts'

type Options = {
  channel?: string
  grep?: string
  before?: string
  events?: boolean
  follow?: boolean
  limit: string
}

/** `trivium history`: reads the files themselves, so it works with and without a daemon. */
export const addHistory: AddCommand = (program, context) => {
  program
    .command('history')
    .description('what was said, on every channel; with --events what was done about it')
    .option('--channel <glob>', 'only these channels (gateways)')
    .option('--grep <text>', 'only lines with this text, or /regex/')
    .option('--events', 'the operational trace (events.jsonl) instead of the conversation (messages.jsonl)')
    .option('--follow', 'go on with what comes, until interrupted')
    .option('--limit <n>', 'the newest so many', '50')
    .option('--before <time>', 'the newest before this time: that of the first line shown goes on back')
    .action(async ({ channel, grep, before, events, follow, limit }: Options) => {
      const { dataDir } = (await loadFor(context.environs())()).daemon
      const logs = createLogs({ dir: dataDir })
      const interrupted = new AbortController()
      if (follow) process.once('SIGINT', () => interrupted.abort())
      const query: LogQuery = {
        limit: wholeNumber('--limit', limit),
        signal: interrupted.signal,
        ...defined({ channel, grep, follow, before: before && timeIn(before) }),
      }
      const terminal = context.terminal()
      for await (const entry of events ? logs.events(query) : logs.history(query)) {
        terminal.out(`${terminal.json ? JSON.stringify(entry) : readable(entry)}\n`)
      }
      await logs.close()
    })
}

function timeIn(text: string): string {
  const time = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`)
  if (Number.isNaN(time)) throw usage(`--before is a time such as 2026-11-21T10:00:00Z, not ${text}`)
  return new Date(time).toISOString()
}

function readable({ time, channel, role, content, event, ...rest }: Record<string, unknown>): string {
  const head = `${String(time).slice(0, 19).replace('T', ' ')}  ${String(channel ?? '-')}`
  if (event !== undefined) return `${head}  ${event}  ${JSON.stringify(rest)}`
  return `${head}  ${role === 'assistant' ? '→' : '←'} ${String(content).replaceAll('\n', `\n${' '.repeat(head.length + 4)}`)}`
}
