/**
 * Verbs that show something and end. By name, because a list of the operations would slow down the
 * start of every command; a test compares both.
 */
const VERBS: ReadonlySet<string> = new Set(
  (
    'list show groups retries traffic usage open count attempts histogram durations items waiting unread ' +
    'search get installs explain check'
  ).split(' '),
)
/** Nouns that show something without a verb; not `doctor`, which may ask a question. */
const ALONE: ReadonlySet<string> = new Set(
  (
    'status history error state workbench parts approval audit call conversation cost dead-letter ' +
    'delegation gateway group job pause person refusal route run schedule send session skill subscription ' +
    'trouble'
  ).split(' '),
)
/** Nouns whose other words are not verbs, but what to show: `audit 4655`. */
const TAKES_WORDS: ReadonlySet<string> = new Set(['history', 'audit', 'error'])

/**
 * Whether a command line, without its global options, shows something and ends: its output may go
 * to a pager, or be shown again and again.
 */
export function readsOnly(line: readonly string[]): boolean {
  const end = line.findIndex((word) => word.startsWith('-'))
  const [noun, verb, next] = end < 0 ? line : line.slice(0, end)
  if (noun === undefined || line.includes('--follow')) return false
  if (verb === undefined) return ALONE.has(noun)
  if (verb === 'installs') return next !== 'remove'
  return VERBS.has(verb) || TAKES_WORDS.has(noun)
}
