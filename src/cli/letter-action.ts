import type { Command } from 'commander'
import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { deadLetters } from '../engine/operations/messages.ts'
import { humanLetterCount, humanLetterGroups, letterGroups } from '../engine/print/dead-letters.ts'
import { shortJobId } from '../engine/print/job-words.ts'
import { filterWords } from '../engine/print/letter-causes.ts'
import { commandText } from '../lib/command-text.ts'
import { counted } from '../lib/counted.ts'
import { defined } from '../lib/defined.ts'
import { isInProgress } from '../lib/outcomes.ts'
import { paragraph } from '../lib/paragraph.ts'
import { pause } from '../lib/pause.ts'
import type { Printable } from '../lib/printed.ts'
import { type CommandContext, exitCodeOf, interruption, usage } from './command.ts'
import { confirms } from './confirms.ts'
import { ask, type Connection } from './connection.ts'
import { withFullIds } from './full-ids.ts'
import { operationFlags } from './operation-command.ts'
import { retriedMany, retriedOne } from './print-retried.ts'
import {
  type Fate,
  hasFailedAgain,
  type Retried,
  retriedLetter,
  WAIT_FOR_MANY,
  WAIT_FOR_ONE,
  watchRetried,
} from './retried.ts'
import { fullId } from './short-ids.ts'

type Verb = 'retry' | 'drop'
type Options = { dryRun?: boolean; yes?: boolean; wait?: boolean }
/** The reason, if one was given. It does not filter. */
type Why = { why: JsonObject }

/** Maximum number of letters whose outcomes are followed. */
const MOST_FOLLOWED = 1_000
/** Dead letters per page. */
const PAGE_SIZE = 500

const DESCRIPTIONS: Readonly<Record<Verb, string>> = {
  retry: 'retry them at the end of their lanes, with all attempts',
  drop: 'remove them permanently',
}

/** Adds `dead-letter retry` or `drop`. Many are shown before a question. */
export function addLetterAction(command: Command, context: CommandContext, verb: Verb): void {
  const action = command
    .command(`${verb} [id...]`)
    .description(`${DESCRIPTIONS[verb]}: the named ones, or with --all those that match the filters`)
  const { read } = operationFlags(action, deadLetters[verb], ['id', 'limit'])
  action.option('--dry-run', 'with --all: only show which would be meant')
  action.option(
    '--yes',
    verb === 'drop'
      ? 'with --all: do not ask; required without a terminal'
      : 'with --all: do not ask at a terminal',
  )
  if (verb === 'retry') action.option('--no-wait', 'do not wait for the outcome (5 s; with --all up to 30 s)')
  action.action((ids: string[], options: Options) => {
    const { all, reason, ...filter } = read(options, context.terminal())
    const why = defined({ reason })
    if (ids.length > 0 && (all || Object.keys(filter).length > 0))
      throw usage('Give ids or filters, not both.')
    if (options.dryRun && !all)
      throw usage('--dry-run shows what --all would touch. `trivium dead-letter show ID` shows a single one.')
    const work = (daemon: Connection) => {
      if (ids.length > 0) return actOnNamed(daemon, context, verb, ids, { ...options, why })
      return actOnMatching(daemon, context, verb, filter, { ...options, all: all === true, why })
    }
    return ask(context, work, (result) => humanAction(verb, result))
  })
}

async function actOnNamed(
  daemon: Connection,
  context: CommandContext,
  verb: Verb,
  given: readonly string[],
  { wait, why }: Options & Why,
): Promise<Json> {
  const isRetry = verb === 'retry' && daemon.running
  const signal = isRetry && (wait || given.length > 1) ? interruption() : undefined
  const began = Date.now()
  const letters = await lettersNamed(daemon, given, { isWhole: signal !== undefined })
  const isJob = isRetry && letters.length > 1
  const acted =
    isJob && signal
      ? await retryNamedAsJob(daemon, context, letters, { why, signal })
      : { count: await actOnEach(daemon, verb, letters, why) }
  if (!signal || !wait) return acted
  const limit = letters.length === 1 ? WAIT_FOR_ONE : WAIT_FOR_MANY
  return { ...acted, outcomes: await outcomesOf(daemon, context, letters, { began, limit, signal }) }
}

/** The named letters, each once. `isWhole`: with their queues and messages. Throws if one is missing. */
async function lettersNamed(
  daemon: Connection,
  given: readonly string[],
  { isWhole }: { isWhole: boolean },
): Promise<Retried[]> {
  const found = new Map<string, Retried>()
  for (const part of given) {
    const id = await fullId(daemon, part, 'dead-letter', { isChange: true })
    const letter = retriedLetter(isWhole ? Object(await daemon.invoke('dead-letter-show', { id })) : { id })
    found.set(`${letter.queue} ${letter.id}`, letter)
  }
  return [...found.values()]
}

async function actOnEach(
  daemon: Connection,
  verb: Verb,
  letters: readonly Retried[],
  why: JsonObject,
): Promise<number> {
  for (const { id } of letters) await daemon.invoke(`dead-letter-${verb}`, { id, ...why })
  return letters.length
}

/** Maximum number of dead letters that a job takes by their ids. */
const MOST_OF_JOB = 500

/** Retries several letters like `--all`, as a job for each of their queues. */
async function retryNamedAsJob(
  daemon: Connection,
  context: CommandContext,
  letters: readonly Retried[],
  { why, signal }: Why & { signal: AbortSignal },
): Promise<{ count: number; job: string } | { count: number; jobs: string[] }> {
  const progress = (text: string) => context.terminal().progress(text && `${text} retried …`)
  const jobs: { count: number; job: string }[] = []
  for (const [queue, some] of Map.groupBy(letters, (letter) => letter.queue))
    for (let at = 0; at < some.length; at += MOST_OF_JOB) {
      const ids = some.slice(at, at + MOST_OF_JOB).map(({ id }) => id)
      jobs.push(await retryAsJob(daemon, { queue, ids, ...why }, { progress, signal }))
    }
  const count = jobs.reduce((sum, one) => sum + one.count, 0)
  const [only, ...others] = jobs
  return only && others.length === 0 ? only : { count, jobs: jobs.map(({ job }) => job) }
}

async function actOnMatching(
  daemon: Connection,
  context: CommandContext,
  verb: Verb,
  given: JsonObject,
  { all, dryRun = false, yes = false, wait, why }: Options & Why & { all: boolean },
): Promise<Json> {
  const filters = await withFullIds(`dead-letter-${verb}`, given, daemon)
  const args = { ...filters, until: filters.until ?? new Date().toISOString() }
  const groups = objectsIn(await daemon.invoke('dead-letter-groups', args))
  const count = groups.reduce((sum, group) => sum + Number(group.count), 0)
  if (!all) {
    const matches = counted(count, 'dead letter matches', 'dead letters match')
    throw usage(`${matches}. Add --all to ${verb} ${count === 1 ? 'it' : 'them'}, or name some.`)
  }
  if (dryRun) return groups
  if (count === 0) return { count }
  const isAgreed = await confirms(context.terminal(), {
    yes,
    // Retrying without a question is a promise to scripts.
    isRequired: verb === 'drop',
    what: `${verb} ${counted(count, 'dead letter')}`,
    about: letterGroups(groups),
    question: `${verb === 'retry' ? 'Retry' : 'Drop'} all of these? (y/N) `,
    hint: '`trivium dead-letter groups` shows the causes.',
  })
  if (!isAgreed) return { count: 0, refused: true }
  const isFollowed = verb === 'retry' && wait && daemon.running && count <= MOST_FOLLOWED
  const letters = isFollowed ? (await allLetters(daemon, args)).map(retriedLetter) : []
  const began = Date.now()
  const progress = (text: string) =>
    context.terminal().progress(text && `${text} ${verb === 'retry' ? 'retried' : 'dropped'} …`)
  const isJob = verb === 'retry' && daemon.running
  const signal = isJob ? interruption() : new AbortController().signal
  const acted = isJob
    ? await retryAsJob(daemon, { ...filters, asOf: args.until, ...why }, { progress, signal })
    : { count: await actOnAll(daemon, verb, { ...args, ...why }, progress) }
  const { until: _, ...shown } = filters
  const result = { ...acted, groups, filters: shown }
  if (!isFollowed) return result
  const options = { began, limit: WAIT_FOR_MANY, signal }
  return { ...result, outcomes: await outcomesOf(daemon, context, letters, options) }
}

/** Polling interval (ms) for a job. */
const LOOK_INTERVAL = 200

/** Retries as a job, like the console, and waits for its end. Ctrl-C ends the wait, not the job. */
async function retryAsJob(
  daemon: Connection,
  args: JsonObject,
  { progress, signal }: { progress(text: string): void; signal: AbortSignal },
): Promise<{ count: number; job: string }> {
  const begun = await daemon.invoke('dead-letter-bulk', { ...args, do: 'retry' })
  const id = String(pathGet(begun, 'job.id'))
  using _erased = { [Symbol.dispose]: () => progress('') }
  for (;;) {
    const job: JsonObject = Object(await daemon.invoke('job-show', { id }))
    const count = Number(pathGet(job.result ?? null, 'count') ?? job.done)
    if (job.state !== 'running' || signal.aborted) return { count, job: id }
    progress(String(job.done))
    await pause(LOOK_INTERVAL, signal)
  }
}

/** Works in batches. Letters that die again meanwhile are newer than `until`, and left alone. */
async function actOnAll(
  daemon: Connection,
  verb: Verb,
  args: JsonObject,
  progress: (text: string) => void,
): Promise<number> {
  let count = 0
  using _erased = { [Symbol.dispose]: () => progress('') }
  for (;;) {
    const batch = await daemon.invoke(`dead-letter-${verb}`, { ...args, all: true })
    count += Number(pathGet(batch, 'count'))
    if (pathGet(batch, 'more') !== true) return count
    progress(String(count))
  }
}

/** All dead letters that match, newest first. */
export async function allLetters(daemon: Connection, args: JsonObject): Promise<JsonObject[]> {
  const found: JsonObject[] = []
  for (;;) {
    const last = found.at(-1)
    const before = last ? `${last.at}/${last.id}` : args.before
    const query = { ...args, ...defined({ before }), limit: PAGE_SIZE }
    const page = objectsIn(await daemon.invoke('dead-letter-list', query))
    if (page.length === 0) return found
    found.push(...page)
  }
}

/** Waits for the outcomes. Exits with 1 if some failed again. Ctrl-C ends the wait, not the retries. */
async function outcomesOf(
  daemon: Connection,
  context: CommandContext,
  letters: readonly Retried[],
  options: { began: number; limit: number; signal: AbortSignal },
): Promise<Fate[]> {
  const { progress } = context.terminal()
  const outcomes = await watchRetried(daemon, letters, { ...options, progress })
  if (outcomes.some(hasFailedAgain)) context.exit(1)
  if (options.signal.aborted) context.exit(exitCodeOf('SIGINT'))
  return outcomes
}

function humanAction(verb: Verb, result: Json): Printable {
  if (Array.isArray(result)) return humanLetterGroups(result)
  const {
    count = 0,
    refused,
    outcomes,
    groups,
    filters,
    job,
    jobs = job === undefined ? [] : [job],
  } = Object(result)
  const participle = verb === 'retry' ? 'retried' : 'dropped'
  if (Number(count) === 0) return `0 dead letters ${participle}${refused === true ? '' : ': none matches'}.`
  const fates: Fate[] = Array.isArray(outcomes) ? outcomes : []
  const [only] = fates
  const about = objectsIn(groups).length > 1 ? `\n\n${letterGroups(groups)}` : ''
  if (only && count === 1) return paragraph('', retriedOne(only))
  const isSettled = only !== undefined && !fates.some(({ outcome }) => isInProgress({ [outcome]: 1 }))
  const asJob = [jobs]
    .flat()
    .map((id) => `\n${paragraph('  → ', outcomesStep(id, isSettled))}`)
    .join('')
  if (only) return `${retriedMany(fates, Number(count), filterWords(Object(filters)))}${asJob}${about}`
  const watch = asJob || (verb === 'retry' ? `\n${paragraph('  → ', WATCH)}` : '')
  return `${humanLetterCount(participle, Number(count))}${watch}${about}`
}

function outcomesStep(job: unknown, isSettled: boolean): string {
  const id = shortJobId(job)
  return isSettled
    ? `${commandText('job show', id)} shows the outcomes.`
    : `${commandText('job show', id, '--follow')} waits for the outcomes.`
}

/** Where to see what becomes of letters that are not followed. */
const WATCH =
  '`trivium message list --outcome retrying` and `trivium dead-letter list` show what becomes of them.'
