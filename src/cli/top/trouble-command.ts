import { type JsonObject, pathGet } from '../../core/json.ts'

/** The command that shows the thing that a trouble is about; none for the daemon itself. */
export function commandOfTrouble({ code, where = {} }: JsonObject): { command?: readonly string[] } {
  const at = (field: string) => {
    const value = pathGet(where, field)
    return value === undefined || value === '' ? undefined : String(value)
  }
  const command = SHOWN[String(code)]?.(at)
  return command ? { command } : {}
}

type At = (field: string) => string | undefined

/** By the code of the trouble. */
const SHOWN: Readonly<Record<string, (at: At) => readonly string[] | undefined>> = {
  'gateway-down': (at) => named(['gateway', 'show'], at('gateway')),
  'messages-lost': (at) => named(['gateway', 'show'], at('gateway')),
  refusals: (at) => ['refusal', 'list', ...option('--gateway', at('gateway'))],
  'subscription-down': (at) => named(['subscription', 'show'], at('subscription')),
  'subscription-errors': (at) => named(['subscription', 'show'], at('subscription')),
  'subscription-paused': (at) => named(['subscription', 'show'], at('subscription')),
  'group-lag': (at) => named(['group', 'show', '--topic', at('topic') ?? ''], at('group')),
  'group-stalled': (at) => named(['group', 'show', '--topic', at('topic') ?? ''], at('group')),
  'dead-letters': (at) => [
    ...['dead-letter', 'list'],
    ...option('--queue', at('queue')),
    ...option('--route', at('group')),
    ...option('--code', at('code')),
    ...option('--pattern', at('pattern')),
  ],
  'schedule-failed': () => ['dead-letter', 'list', '--queue', 'schedules'],
  backlog: (at) => messages(at, at('road') === 'outbox' ? 'replying' : 'waiting'),
  retrying: (at) => messages(at, at('road') === 'outbox' ? 'replying' : 'retrying'),
  'attempt-hangs': (at) => named(['message', 'show'], at('messageId')) ?? messages(at, 'running'),
  unrouted: () => ['message', 'list', '--outcome', 'unrouted'],
  'approval-waiting': () => ['approval', 'list'],
  unanswered: () => ['conversation', 'list', '--for-person'],
  paused: () => ['pause', 'list'],
  'skill-broken': (at) => named(['skill', 'show'], at('skill')),
}

function messages(at: At, outcome: string): readonly string[] {
  return [
    ...['message', 'list', '--outcome', outcome],
    ...option('--gateway', at('gateway')),
    ...option('--route', outcome === 'replying' ? undefined : at('group')),
  ]
}

function named(command: readonly string[], name: string | undefined): readonly string[] | undefined {
  return name === undefined ? undefined : [...command, name]
}

function option(flag: string, value: string | undefined): string[] {
  return value === undefined ? [] : [flag, value]
}
