import { isJsonObject, type JsonObject } from '../core/json.ts'
import { shellWord } from '../lib/command-text.ts'
import { flagWords } from '../lib/flag-words.ts'
import { type Printable, printed } from '../lib/printed.ts'

/** Arguments of lists that leave out nothing, or that people did not give. */
const NO_FILTERS = new Set(['limit', 'before', 'answerable', 'id', 'topic', 'buckets', 'latest'])
/** The first sentence of an empty list. */
const NOTHING =
  /^(?:No|There are no) (messages|conversations|dead letters|entries|approvals|routes|jobs|schedules|events)(?: are retained)?(?= since|\.)/

/**
 * Says that an empty list is filtered, and by what, so that it is not mistaken for the whole:
 * `No messages match --text refund.`
 */
export function withFilters(printable: Printable, args: JsonObject): Printable {
  const { text, notes } = printed(printable)
  const [first = '', ...others] = notes
  const filters = Object.entries(args).flatMap(filterText)
  if (text !== '' || filters.length === 0 || !NOTHING.test(first)) return printable
  return { text, notes: [first.replace(NOTHING, `No $1 match ${filters.join(' ')}`), ...others] }
}

/** `--text refund`. */
function filterText([name, value]: [string, unknown]): string[] {
  if (NO_FILTERS.has(name) || value === undefined || value === null || isJsonObject(value)) return []
  return [flagWords(name, value).map(shellWord).join(' ')]
}
