import { counted } from './counted.ts'
import { toCsv } from './csv.ts'

/** The parts of a listed entry of the audit log that its words need. */
type Entry = {
  action: string
  status?: string
  target?: Record<string, unknown>
  result?: Record<string, unknown>
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
  'daemon-start': ['started the daemon', 'start the daemon'],
  'daemon-stop': ['stopped the daemon', 'stop the daemon'],
  forget: ['forgot a note', 'forget a note'],
  'message-submit': ['submitted a message', 'submit a message'],
  'message-resend': ['sent a message again', 'send a message again'],
  'message-replay': ['routed unrouted messages again', 'route unrouted messages again'],
  'control-token-rotate': ['replaced the control token', 'replace the control token'],
  'queue-board': ['changed a queue in Bull Board', 'change a queue in Bull Board'],
  'event-replay': ['replayed events to a group', 'replay events to a group'],
  'event-seek': ['moved a group', 'move a group'],
  'subscription-replay': ['replayed events to a push', 'replay events to a push'],
  'run-cancel': ['cancelled a running attempt', 'cancel a running attempt'],
}

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
  settle: 'settled',
  reconnect: 'reconnected',
}

/** What an entry says was done, or tried: `dropped a dead letter`, `tried to pause a route`. */
export function actionInWords({ action, status = 'done', target = {}, result = {} }: Entry): string {
  const [done, tried] = PHRASES[action] ?? phraseOf(action, target, result)
  return status === 'done' ? done : `tried to ${tried}`
}

function phraseOf(
  action: string,
  target: Record<string, unknown>,
  { count }: Record<string, unknown>,
): readonly [string, string] {
  if (action === 'approval-decide') {
    const call = 'the call of a skill'
    return [target.status === 'denied' ? `denied ${call}` : `approved ${call}`, `decide about ${call}`]
  }
  const [, noun = '', last = ''] = /^(.+)-(\w+)$/.exec(action) ?? []
  const isBulk = last === 'bulk'
  const verb = isBulk ? String(target.do ?? 'retry') : last
  const past = DONE[verb]
  if (past === undefined) return [`ran the skill ${action}`, `run the skill ${action}`]
  const isMany = isBulk || target.all === true || Array.isArray(target.ids)
  const name = noun === 'subscription' ? 'push' : noun.replaceAll('-', ' ')
  const object = withArticle(name, isMany)
  const known = isMany && typeof count === 'number' ? counted(count, name) : object
  return [`${past} ${known}`, `${verb === 'update' ? 'change' : verb} ${object}`]
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
