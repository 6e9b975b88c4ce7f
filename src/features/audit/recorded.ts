import { type AuditEntry, auditEntrySchema } from '../../core/audit.ts'
import { toTriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, pathGet, toJson } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { withoutAddresses } from '../../lib/without-addresses.ts'

/** Arguments that are recorded: names, ids, times and flags. Texts and addresses are not. */
const RECORDED_ARGUMENTS =
  'id ids gateway conversation name key topic queue group route skill subscription team messageId do code since until at happened all confirm for drop force reference'.split(
    ' ',
  )
/**
 * Skills whose arguments `from` and `to` are ids or positions. Of other skills, they are addresses.
 */
const OF_EVENTS = /^(?:event|subscription)-/
const EVENT_ARGUMENTS = ['from', 'to']
/** Skills with filters for dead letters. */
const OF_LETTERS = /^dead-letter-/
/** Filters with texts, from which mail addresses and phone numbers are left out. */
const TEXT_FILTERS = ['error', 'code', 'pattern']
const LETTER_FILTERS = ['message', ...TEXT_FILTERS]
/** Flags that are recorded only if they are true. */
const FLAGS = new Set(['force', 'drop'])
/** Parts of a result that are recorded: counts and flags. */
const RECORDED_RESULTS =
  'count messages routed existed created deleted waiting dead skipped rotated trouble'.split(' ')
const RECORDED_TYPES: ReadonlySet<string> = new Set(['number', 'boolean', 'string'])
/** Maximum characters of a recorded text. */
const MAX_LENGTH = 200
/** Maximum number of recorded elements of an array. */
const MAX_ITEMS = 20

/** The objects of a call of a built-in skill, and the reason that its caller gave. */
export function givenIn(skill: string, args: unknown): Pick<AuditEntry, 'target' | 'reason'> {
  if (!isJsonObject(args)) return {}
  const names = [
    ...RECORDED_ARGUMENTS,
    ...(OF_EVENTS.test(skill) ? EVENT_ARGUMENTS : []),
    ...(OF_LETTERS.test(skill) ? LETTER_FILTERS : []),
  ]
  const recorded = names.flatMap((key) => {
    const given = Object.hasOwn(args, key) ? args[key] : undefined
    const value = shorten(
      TEXT_FILTERS.includes(key) && typeof given === 'string' ? withoutAddresses(given) : given,
    )
    return value === undefined || (value === false && FLAGS.has(key)) ? [] : [[key, value] as const]
  })
  const { reason } = args
  return {
    ...(recorded.length > 0 && { target: Object.fromEntries(recorded) }),
    ...(typeof reason === 'string' && reason !== '' && { reason: reason.slice(0, MAX_LENGTH) }),
  }
}

/**
 * The counts and flags in the result of a built-in skill, the id and size of the job that was begun,
 * and the settings that it changed (`changes`).
 */
export function recordedResult(result: unknown): Pick<AuditEntry, 'result' | 'changes'> {
  const value = toJson(result)
  if (!isJsonObject(value)) return {}
  const { job } = value
  const { withdrawn, interrupted, kept }: JsonObject = Object(value.result)
  const facts = [
    // Of a cancelled job.
    ...Object.entries(defined({ withdrawn, interrupted, kept })),
    ...RECORDED_RESULTS.map((key) => [key, value[key]] as const),
    ['job', jobIn(value)] as const,
    ['total', isJsonObject(job) ? job.total : undefined] as const,
  ]
  const known = facts.flatMap(([key, fact]): [string, Json][] => (isRecorded(fact) ? [[key, fact]] : []))
  const changes = auditEntrySchema.shape.changes.safeParse(value.changes).data
  return {
    ...(known.length > 0 && { result: Object.fromEntries(known) }),
    ...(changes && Object.keys(changes).length > 0 && { changes }),
  }
}

/** Scalars, and lists of ids. */
function isRecorded(fact: Json | undefined): fact is Json {
  if (Array.isArray(fact)) return fact.length <= MAX_ITEMS && fact.every((id) => typeof id === 'string')
  return RECORDED_TYPES.has(typeof fact)
}

/** The id of the job that was begun, if any. */
function jobIn(result: JsonObject): Json | undefined {
  const id = pathGet(result, 'job.id')
  return typeof id === 'string' ? id : undefined
}

/** Codes of errors whose message is recorded for every skill. Others may quote messages. */
const OWN_WORDS = /^(?:forbidden|cancelled)$/
/** Codes of errors whose message is never recorded: it quotes another error, or arguments. */
const QUOTING = /^(?:internal|skill_failed|invalid_arguments|approval_denied)$/

/** Why a call failed. */
export function failureOf(error: unknown, isBuiltIn: boolean): Pick<AuditEntry, 'outcome' | 'error'> {
  const { code, message } = toTriviumError(error)
  const isSafe = OWN_WORDS.test(code) || (isBuiltIn && !QUOTING.test(code))
  return { outcome: code, ...defined({ error: isSafe ? message.slice(0, MAX_LENGTH) : undefined }) }
}

function shorten(value: unknown): Json | undefined {
  if (typeof value === 'string') return value.slice(0, MAX_LENGTH)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (!Array.isArray(value)) return undefined
  const items = value.slice(0, MAX_ITEMS).map((item) => String(item).slice(0, MAX_LENGTH))
  return toJson(value.length > MAX_ITEMS ? [...items, `and ${value.length - MAX_ITEMS} more`] : items)
}
