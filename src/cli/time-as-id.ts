import type { ZodType } from 'zod'
import type { JsonObject } from '../core/json.ts'
import { type IdOf, spokenArguments } from '../core/spoken.ts'
import { looksLikeTime } from '../core/units.ts'
import { usage } from './command.ts'
import type { Flag } from './operation-flags.ts'

/** The arguments that take a time, by those that take an id in the same direction. */
const OF_TIMES: Readonly<Record<string, string>> = { from: 'since', to: 'until', before: 'until' }
/** Cursors: ids, or made from ids. */
const CURSORS = ['before']

const KINDS: Readonly<Record<Exclude<IdOf, 'conversation'>, string>> = {
  message: 'a message',
  'dead-letter': 'a dead letter',
  event: 'an event',
  refusal: 'a refusal',
  approval: 'an approval',
  job: 'a job',
  audit: 'an entry',
  trouble: 'a trouble',
}

/**
 * Throws `usage` for a time in an argument that takes an id: compared with ids, it would match
 * nothing, or everything. Names the flag for a time, if the operation has one.
 */
export function refuseTimes(schema: ZodType | undefined, args: JsonObject, flags: readonly Flag[]): void {
  if (!schema) return
  const words = spokenArguments(schema)
  for (const [argument, { id: kind }] of Object.entries(words)) {
    const given = args[argument]
    const isId = CURSORS.includes(argument) || (kind !== undefined && kind !== 'conversation')
    if (!isId || typeof given !== 'string' || !looksLikeTime(given)) continue
    const other = flagOf(OF_TIMES[argument], flags)
    const what = kind === undefined || kind === 'conversation' ? 'an id' : `the id of ${KINDS[kind]}`
    const hint = other === undefined ? '' : ` For a time: ${other} ${JSON.stringify(given)}.`
    throw usage(`${flagOf(argument, flags) ?? argument} takes ${what}, not a time.${hint}`)
  }
}

function flagOf(argument: string | undefined, flags: readonly Flag[]): string | undefined {
  const found = flags.find(({ places }) => places.some(([name]) => name === argument))
  return argument === undefined ? undefined : (found?.option.long ?? undefined)
}
