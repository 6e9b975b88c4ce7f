import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { type Printers, readable } from '../core/readable.ts'
import { skillJsonSchema } from '../core/skill.ts'
import { builtInSkills } from '../daemon/built-in-skills.ts'
import { printers as deadLetters } from '../engine/print/dead-letters.ts'
import { printers as events } from '../engine/print/events.ts'
import { printers as gateways } from '../engine/print/gateways.ts'
import { printers as jobs } from '../engine/print/jobs.ts'
import { printers as messages } from '../engine/print/messages.ts'
import { printers as approvals } from '../features/approvals/print.ts'
import { printers as audit } from '../features/audit/print.ts'
import { printers as conversationNotes } from '../features/conversation-notes/print.ts'
import { pausePrinters } from '../features/pauses/print.ts'
import { printers as people } from '../features/person/print.ts'
import { printers as subscriptions } from '../features/push/print.ts'
import { printers as savedViews } from '../features/saved-views/print.ts'
import { printers as schedules } from '../features/schedules/print.ts'
import { printers as sends } from '../features/send-later/print.ts'
import { printers as storePause } from '../features/store-pause/print.ts'
import { printers as troubles } from '../features/troubles/print.ts'
import { printers as usage } from '../features/usage/print.ts'
import { commandAgain } from '../lib/flag-words.ts'
import { paragraph } from '../lib/paragraph.ts'
import { type Printable, withNotes } from '../lib/printed.ts'
import { isOfAssistant } from './assistant-words.ts'
import { withFilters } from './filter-note.ts'
import { spokenName } from './grammar.ts'
import { underFlags } from './operation-flags.ts'
import { humanRetriedMessage } from './print-retried.ts'
import { withReleased } from './resume.ts'
import { argsOfBuiltIn } from './skill-flags.ts'
import { pretty } from './terminal.ts'

/**
 * Formats the result of a built-in skill: by a printer listed here, or else by `readable`. Data of
 * others (`state get`, `event wait`) and results of other skills are printed unchanged, as text or
 * indented JSON.
 */
export function humanResult(skill: string, result: Json, args: JsonObject, isBuiltIn: boolean): Printable {
  if (!isBuiltIn || RETURNS_DATA.has(skill)) return pretty(result)
  const printer = Object.hasOwn(PRINTERS, skill) ? PRINTERS[skill] : undefined
  const named = underFlags(args, argsOfBuiltIn(skill))
  const text = withFilters(printer ? printer(result, args) : readable(result), named)
  const limit = Array.isArray(result) ? limitOf(skill, args) : undefined
  return limit === undefined || objectsIn(result).length < limit
    ? text
    : withNotes(text, limitText(skill, limit, named))
}

/** The highest `limit` of operations. */
const MAX_LIMIT = 1_000

/** The number of entries at which a list of an operation ends: the argument, or its default. */
function limitOf(skill: string, args: JsonObject): number | undefined {
  const schema = builtInSkills.find(({ name }) => name === skill)?.args
  const byDefault = schema && pathGet(skillJsonSchema({ args: schema }), 'properties.limit.default')
  const limit = args.limit ?? byDefault
  return typeof limit === 'number' ? limit : undefined
}

/** A note below a list that ends at its limit, because the limit could be mistaken for the total. */
function limitText(skill: string, limit: number, args: JsonObject): string {
  const again = commandAgain(spokenName(skill), args, { limit: MAX_LIMIT })
  const more = limit < MAX_LIMIT ? `: ${again}` : '.'
  return paragraph('', `${limit} shown, which is the limit: there may be more${more}`)
}

/** Skills whose result is data of others, which is printed as it is. */
const RETURNS_DATA = new Set([
  'state-get',
  'state-wait',
  'event-wait',
  'event-show',
  'gateway-receive',
  'callback-wait',
  'ask-person',
])

const PAUSES = pausePrinters(isOfAssistant)
const RESUMES = Object.fromEntries(
  Object.entries(PAUSES)
    .filter(([name]) => name.endsWith('-resume'))
    .map(([name, printer]) => [name, withReleased(printer)]),
)

const PRINTERS: Printers = {
  ...approvals,
  ...audit,
  ...conversationNotes,
  ...deadLetters,
  ...events,
  ...gateways,
  ...jobs,
  ...messages,
  ...PAUSES,
  ...RESUMES,
  ...people,
  ...savedViews,
  ...schedules,
  ...sends,
  ...storePause,
  ...subscriptions,
  ...troubles,
  ...usage,
  'message-retry': humanRetriedMessage,
}
