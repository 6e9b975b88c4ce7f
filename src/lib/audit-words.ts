import { counted } from './counted.ts'
import { toCsv } from './csv.ts'

/** The parts of a listed entry of the audit log that its words need. */
type Entry = {
  action: string
  status?: string
  target?: Record<string, unknown>
  result?: Record<string, unknown>
  changes?: Record<string, { before: unknown; after: unknown }>
}

/**
 * Actions whose words do not follow from their names: the words for a done action, and those after
 * `tried to`.
 */
const PHRASES: Record<string, readonly [string, string]> = {
  'sign-in': ['signed in', 'sign in'],
  'sign-out': ['signed out', 'sign out'],
  reload: ['reloaded the configuration', 'reload the configuration'],
  'configuration-change': ['changed the configuration', 'change the configuration'],
  'skill-change': ['changed files of a skill', 'use changed files of a skill'],
  'daemon-start': ['started the daemon', 'start the daemon'],
  'daemon-stop': ['stopped the daemon', 'stop the daemon'],
  forget: ['forgot a note', 'forget a note'],
  'message-submit': ['submitted a message', 'submit a message'],
  'message-resend': ['sent a message again', 'send a message again'],
  'message-replay': ['routed unrouted messages again', 'route unrouted messages again'],
  'control-token-rotate': ['replaced the control token', 'replace the control token'],
  'queue-board': ['changed a queue in Bull Board', 'change a queue in Bull Board'],
  'event-replay': ['replayed events to a group', 'replay events to a group'],
  'event-skip': ['skipped events of a group', 'skip events of a group'],
  'event-seek': ['moved a group', 'move a group'],
  'subscription-replay': ['replayed events to a push', 'replay events to a push'],
  'subscription-retry': ['tried a push at once', 'try a push at once'],
  'conversation-note': ['wrote a note in a conversation', 'write a note in a conversation'],
  'conversation-note-delete': ['deleted a note of a conversation', 'delete a note of a conversation'],
  'conversation-pause': ['took over a conversation', 'take over a conversation'],
  'conversation-resume': ['handed back a conversation', 'hand back a conversation'],
  'trouble-acknowledge': ['took on a trouble', 'take on a trouble'],
  'trouble-release': ['released a trouble', 'release a trouble'],
  'run-cancel': ['ended the attempts on a message', 'end the attempts on a message'],
}

/** The end of an erasure, which its job records. */
const ERASED = 'person-erased'

/** Includes the actions that are not skills. */
export const ACTIONS_IN_WORDS: readonly string[] = [...Object.keys(PHRASES), ERASED]

const DECISION = 'approval-decide'

/** What the jobs of each kind do. The ids of jobs begin with the kind. */
const JOBS: readonly (readonly [kind: string, noun: string])[] = [
  ['replay-', 'replay'],
  ['dead-letters-', 'dead letters'],
  ['person-erase-', 'erasure'],
]

/** Past tenses of the verbs at the end of actions. */
const DONE: Record<string, string> = {
  drop: 'dropped',
  retry: 'retried',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancelled',
  resend: 'resent',
  redrive: 'redrove',
  remove: 'removed',
  erase: 'erased',
  export: 'exported',
  delete: 'deleted',
  create: 'created',
  update: 'changed',
  run: 'ran',
  save: 'saved',
  settle: 'settled',
  reconnect: 'reconnected',
}

/**
 * What an entry says was done, begun or tried: `dropped a dead letter`, `began to erase a person`,
 * `tried to pause a route`.
 */
export function actionInWords(entry: Entry): string {
  const { action, status = 'done', target = {}, result = {} } = entry
  const [done, tried, many = tried] = PHRASES[action] ?? phraseOf(action, target, result)
  if (status !== 'done' || changedNothing(entry)) return `tried to ${tried}`
  // The entry was written at the start of the job.
  return typeof result.job === 'string' ? `began to ${many}` : done
}

/** The texts by which an action is found: its name, and its words for done and tried. */
export function wordsOfAction({ action, target = {}, result = {} }: Entry): readonly string[] {
  const [done, tried] = PHRASES[action] ?? phraseOf(action, target, result)
  return [action, done, tried]
}

/**
 * The word for the outcome of an entry: the decision about a request, such as `denied`, or whether
 * the action was done. A call that was refused is `not allowed`. The start of a job is `begun`: the
 * job may be cancelled or fail.
 */
export function outcomeInWords(entry: Entry): string {
  const { action, status = 'done', target } = entry
  if (status === 'denied') return 'not allowed'
  if (status !== 'done') return status
  if (changedNothing(entry)) return 'nothing changed'
  if (typeof entry.result?.job === 'string') return 'begun'
  return action === DECISION && typeof target?.status === 'string' ? target.status : status
}

/** The words for outcomes, as a search takes them. */
export const OUTCOME_WORDS: readonly string[] = [
  'done',
  'begun',
  'approved',
  'denied',
  'expired',
  'not allowed',
  'cancelled',
  'failed',
  'nothing changed',
]

/**
 * Whether an action that succeeded changed nothing: the object did not exist, as a pause that is
 * resumed, nothing matched, or a pause is the same as before.
 */
function changedNothing({ action, status = 'done', target, result, changes }: Entry): boolean {
  if (status !== 'done') return false
  if (result?.existed === false) return true
  const isMany = target?.all === true || action.endsWith('-bulk')
  if (isMany && (result?.count ?? result?.total) === 0) return true
  const { before, after } = changes?.pause ?? {}
  return isSet(before) && JSON.stringify(before) === JSON.stringify(after)
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Names of objects whose value the words for an action already say. */
export function isSaidInWords(name: string, { action }: Pick<Entry, 'action'>): boolean {
  if (action === ERASED) return name === 'records' || name === 'messages'
  return (name === 'do' && action.endsWith('-bulk')) || (name === 'status' && action === DECISION)
}

/** Why a call failed, without the parts that its entry has elsewhere: the action, who may do it. */
export function errorInWords(error: string): string {
  const [why = error] = error.replace(/^Skill \S+ for .+? is not allowed: /, '').split('; ')
  return why.replace(/\.$/, '')
}

/** Arguments that are not shown, because an action always has them. */
const ALWAYS = new Set(['all', 'confirm'])
/** An `until` so close (ms) to the entry is its own time. */
const OWN_TIME = 60_000

/** The objects and filters in an entry, by name, without those that say nothing. */
export function shownTarget({
  action,
  at,
  target = {},
  result = {},
}: Pick<Entry, 'action' | 'target' | 'result'> & { at?: unknown }): [name: string, value: unknown][] {
  const isOwnTime = (name: string, value: unknown) =>
    name === 'until' &&
    Math.abs((typeof value === 'number' ? value : Date.parse(String(value))) - Number(at)) < OWN_TIME
  return Object.entries(target)
    .filter(([name, value]) => !ALWAYS.has(name) && !isOwnTime(name, value))
    .map(([name, value]): [string, unknown] =>
      // The id of a trouble is a hash.
      name === 'id' && result.trouble !== undefined ? ['trouble', result.trouble] : [name, value],
    )
    .map(([name, value]) => [name === 'group' && action.startsWith('dead-letter-') ? 'route' : name, value])
}

function phraseOf(
  action: string,
  target: Record<string, unknown>,
  { total, count = total }: Record<string, unknown>,
): readonly [done: string, tried: string, many?: string] {
  if (action === ERASED) {
    const what = typeof target.messages === 'number' ? counted(target.messages, 'message') : 'a person'
    return [`erased ${what}: ${counted(Number(target.records ?? 0), 'record')}`, `erase ${what}`]
  }
  if (action === DECISION) {
    if (target.status === 'expired') return ['let a request expire', 'decide a request']
    return [target.status === 'denied' ? 'denied a request' : 'approved a request', 'decide a request']
  }
  if (action === 'gateway-send')
    return target.messageId === undefined
      ? ['sent a message by hand', 'send a message by hand']
      : ['answered by hand', 'answer by hand']
  const [, noun = '', last = ''] = /^(.+)-(\w+)$/.exec(action) ?? []
  const isBulk = last === 'bulk'
  const verb = isBulk ? String(target.do ?? 'retry') : last
  const past = DONE[verb]
  if (past === undefined) return [`ran the skill ${action}`, `run the skill ${action}`]
  if (action === 'job-cancel') return [`cancelled ${jobNamed(target.id)}`, `cancel ${jobNamed(target.id)}`]
  const isMany = isBulk || target.all === true || Array.isArray(target.ids)
  const name = noun === 'subscription' ? 'push' : noun.replaceAll('-', ' ')
  const object = withArticle(name, isMany)
  const known = isMany && typeof count === 'number' ? counted(count, name) : object
  const infinitive = verb === 'update' ? 'change' : verb
  return [`${past} ${known}`, `${infinitive} ${object}`, `${infinitive} ${known}`]
}

/** `a job (erasure)`. */
function jobNamed(id: unknown): string {
  const noun = JOBS.find(([kind]) => String(id).startsWith(kind))?.[1]
  return noun === undefined ? 'a job' : `a job (${noun})`
}

function withArticle(noun: string, isMany: boolean): string {
  if (isMany) return `${noun}s`
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

const COLUMNS = [
  'time',
  'by',
  'kind',
  'via',
  'action',
  'target',
  'status',
  'outcome',
  'reason',
  'error',
  'from',
  'id',
]

/** Entries of the audit log as CSV, with times in ISO 8601. */
export function auditCsv(entries: readonly Record<string, unknown>[]): string {
  const rows = entries.map((entry) =>
    COLUMNS.map((name) => (name === 'time' ? new Date(Number(entry.at)).toISOString() : entry[name])),
  )
  return toCsv(COLUMNS, rows)
}
