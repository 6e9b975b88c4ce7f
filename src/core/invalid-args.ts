import type { z } from 'zod'
import { nearest } from '../lib/nearest.ts'
import { similarName } from '../lib/similar-names.ts'
import { type ErrorDetail, TriviumError } from './errors.ts'
import { pathGet } from './json.ts'
import { type Spoken, spokenArguments } from './spoken.ts'

/** Maximum number of problems in a response. */
const MAX_DETAILS = 50
const MISSING = 'is missing'
const EMPTY = 'is empty'
const UNKNOWN = 'unknown argument'

/** The error for arguments that do not match the schema of a skill, `args`. */
export function argsInvalid(skill: string, args: z.ZodType, error: z.ZodError, given: unknown): TriviumError {
  const spoken = spokenArguments(args)
  const free = Object.keys(spoken).filter((name) => pathGet(given, [name]) === undefined)
  const details = detailsOf(error, given).map(({ path, message }) => {
    const intended = message === UNKNOWN ? intendedArgument(path, free, spoken) : undefined
    return { path, message: intended === undefined ? message : `${message}; did you mean "${intended}"?` }
  })
  return refusedArgs(skill, details)
}

/** The argument that is intended by a name: of its flag, a synonym, or a similar one. */
function intendedArgument(given: string, names: readonly string[], spoken: Readonly<Record<string, Spoken>>) {
  const ofFlag = names.find((name) => spoken[name]?.flag === given)
  return ofFlag ?? similarName(given, names) ?? nearest(given, names)
}

/** The error for arguments that a skill itself refuses. */
export function refusedArgs(skill: string, details: readonly ErrorDetail[]): TriviumError {
  return new TriviumError('skill_args_invalid', { name: skill, details: sentenceOf(details) }, { details })
}

/** The error for a request that does not match its schema. */
export function badRequest(error: z.ZodError, given: unknown): TriviumError {
  const details = detailsOf(error, given)
  return new TriviumError('bad_request', { reason: sentenceOf(details) }, { details })
}

/**
 * The problems of a value, each with its path, such as `match.gateway`; '' stands for the whole
 * value.
 */
export function detailsOf({ issues }: z.ZodError, given: unknown): ErrorDetail[] {
  return issues.flatMap((issue) => detailsOfIssue(issue, given)).slice(0, MAX_DETAILS)
}

/** All problems in one line: `order is missing; amount: expected at most 500`. */
function sentenceOf(details: readonly ErrorDetail[]): string {
  return details.map(({ path, message }) => problemText(path, message)).join('; ')
}

/** One problem as text, with its path. */
export function problemText(path: string, message: string): string {
  if (path === '') return message
  if (message.startsWith(UNKNOWN)) return message.replace(UNKNOWN, `${UNKNOWN} "${path}"`)
  return `${path}${message === MISSING || message === EMPTY ? ' ' : ': '}${message}`
}

function detailsOfIssue(issue: z.core.$ZodIssue, given: unknown): ErrorDetail[] {
  // Names may contain dots, so the joined path does not lead to the value.
  const steps = issue.path.map(String)
  const value = pathGet(given, steps)
  const path = steps.join('.')
  if (issue.code === 'unrecognized_keys' && issue.message.startsWith('Unrecognized'))
    return issue.keys.map((key) => ({ path: path === '' ? key : `${path}.${key}`, message: UNKNOWN }))
  // A message that the schema defines is more helpful than `is missing`.
  const isMessageOfZod = issue.message.startsWith('Invalid input')
  if (path && isMessageOfZod && value === undefined) return [{ path, message: MISSING }]
  const message =
    emptyOf(issue, value) ??
    boundOf(issue) ??
    choiceOf(issue, value ?? elementOf(given, steps)) ??
    withoutPrefix(issue.message)
  return [{ path, message }]
}

/** The error for an empty text; undefined if the schema has its own. */
function emptyOf(issue: z.core.$ZodIssue, value: unknown): string | undefined {
  const isBound = issue.code === 'too_small' && issue.message.startsWith('Too small')
  return isBound && value === '' && issue.minimum === 1 ? EMPTY : undefined
}

/** A shorter message such as `expected at least 1`; undefined if the schema has its own. */
function boundOf(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'too_small' && issue.message.startsWith('Too small'))
    return expected(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin)
  if (issue.code === 'too_big' && issue.message.startsWith('Too big'))
    return expected(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin)
  return undefined
}

/** `expected one of done, dead`, with a suggestion; undefined if the schema has its own message. */
function choiceOf(issue: z.core.$ZodIssue, given: unknown): string | undefined {
  if (issue.code !== 'invalid_value' || !issue.message.startsWith('Invalid')) return undefined
  const choices = issue.values.map(String)
  const near = typeof given === 'string' ? (sameChoice(given, choices) ?? nearest(given, choices)) : undefined
  const list = choices.length === 1 ? choices.join() : `one of ${choices.join(', ')}`
  return near === undefined ? `expected ${list}` : `expected ${list}; did you mean "${near}"?`
}

/** An element of a list that was given as one text: `done,dead`. */
function elementOf(given: unknown, steps: readonly string[]): unknown {
  const list = pathGet(given, steps.slice(0, -1))
  return typeof list === 'string' ? list.split(',')[Number(steps.at(-1))]?.trim() : undefined
}

/** Words of other tools for choices. */
const SAME_CHOICES: readonly (readonly [choice: string, words: readonly string[]])[] = [
  ['dead', ['failed', 'error', 'failure', 'dead-letter', 'errored']],
  ['failed', ['dead', 'error', 'failure', 'errored']],
  ['done', ['success', 'succeeded', 'ok', 'completed', 'complete', 'finished', 'processed']],
  ['waiting', ['pending', 'queued', 'open', 'scheduled', 'new']],
  ['pending', ['waiting', 'open', 'new']],
  ['running', ['active', 'processing', 'in-progress', 'started']],
  ['denied', ['rejected', 'declined', 'refused']],
  ['approved', ['accepted', 'allowed']],
  ['dead-letters', ['retry', 'retries', 'drop', 'dead-letter', 'dead']],
]

function sameChoice(given: string, choices: readonly string[]): string | undefined {
  const word = given.toLowerCase()
  return SAME_CHOICES.find(([choice, words]) => words.includes(word) && choices.includes(choice))?.[0]
}

/** Removes the prefix that zod puts before its messages. */
function withoutPrefix(message: string): string {
  return message.replace(/^Invalid input: /, '')
}

const UNITS: Partial<Record<string, string>> = { string: 'character', array: 'item', set: 'item' }

function expected(relation: string, bound: number | bigint, origin: string): string {
  const unit = UNITS[origin]
  if (unit === undefined) return `expected ${relation} ${bound}`
  return `expected ${relation} ${bound} ${unit}${Number(bound) === 1 ? '' : 's'}`
}
