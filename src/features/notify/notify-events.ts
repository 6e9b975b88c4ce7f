import type { Approval } from '../../core/approval.ts'
import type { Message } from '../../core/message.ts'
import type { DeadLetter } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { isOfTest } from '../../engine/letter-groups.ts'
import { keyOf } from './dead-letter-scan.ts'
import type { OperationsEvent } from './operations-event.ts'
import type { NotifyOn } from './schema.ts'

/** An event for the operations topic. Only one event with the same `key` is published. */
export type NotifyEvent = { key: string; type: NotifyOn; data: OperationsEvent }

/**
 * The event for a dead letter; undefined for a test, and for the run of a schedule, which the list
 * of troubles reports as `schedule-failed`.
 */
export function deadLetterEvent(letter: DeadLetter): NotifyEvent | undefined {
  const { id, queue, group, at, errors, message } = letter
  if (queue === SCHEDULES || isOfTest(letter)) return undefined
  const { message: reason = 'unknown error', code = '' } = errors.at(-1) ?? {}
  const where = { queue, ...originOf(letter), ...(code && { code }), ...senderOf(message) }
  return {
    key: `dead-letter ${keyOf(letter)}`,
    type: 'dead-letter',
    data: {
      severity: 'error',
      title: titleOf(queue, group),
      text: reason,
      todo: `trivium dead-letter show ${id}`,
      count: 1,
      since: at,
      where,
      deadLetterId: id,
      ...(message && { messageId: message.id }),
    },
  }
}

/** The queue of schedule runs. */
const SCHEDULES = 'schedules'

function titleOf(queue: string, group: string): string {
  if (queue === 'dispatch') return `Dead letter: route ${group || 'unknown'} failed`
  if (queue === 'outbox') return `Dead letter: a reply of gateway ${group} was not sent`
  if (queue === 'receive') return `Dead letter: a message of gateway ${group} was delivered too often`
  return `Dead letter in ${queue}`
}

/** The gateway or route of a dead letter. */
function originOf({ queue, group, message }: DeadLetter): Record<string, string> {
  const gateway = message?.gateway ?? (queue === 'outbox' || queue === 'receive' ? group : undefined)
  return { ...(gateway && { gateway }), ...(queue === 'dispatch' && group !== '' && { route: group }) }
}

/** The sender and the first line of the subject or text. */
function senderOf(message: Message | undefined): Record<string, string> {
  if (!message) return {}
  const { from, subject, text } = message
  const about = subject ?? text
  return { from: from.address ?? from.id, ...(about !== '' && { about: firstLine(about) }) }
}

/** Maximum characters of a line quoted from a message or title. */
const MAX_LINE_LENGTH = 100

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, MAX_LINE_LENGTH)
}

/** The event for an approval that waits for a decision. */
export function approvalEvent({ id, title, skill, by, requestedAt, message }: Approval): NotifyEvent {
  return {
    key: `approval-waiting ${id}`,
    type: 'approval-waiting',
    data: {
      severity: 'warning',
      title: `Approval needed: ${firstLine(title)}`,
      text: `${by} asks for ${skill}.`,
      todo: `trivium approval decide --id ${id} --approve, or the console`,
      count: 1,
      since: requestedAt,
      where: { skill, ...(message && { gateway: message.gateway }) },
      approvalId: id,
      ...(message && { messageId: message.id }),
    },
  }
}

/** Troubles that are reported when they begin, and their event types. */
const REPORTED: Partial<Record<Trouble['code'], NotifyOn>> = {
  'gateway-down': 'gateway-down',
  'subscription-down': 'subscription-down',
  'subscription-errors': 'subscription-errors',
  'schedule-failed': 'schedule-failed',
  budget: 'budget',
  refusals: 'refusals',
}
/** Troubles of one daemon, which that daemon reports. */
const LOCAL: readonly Trouble['code'][] = ['gateway-down', 'refusals']

/**
 * The event for a trouble; undefined if troubles of its kind are not reported. `began`: when it was
 * first seen (Unix ms).
 */
export function troubleEvent(trouble: Trouble, began: number): NotifyEvent | undefined {
  const type = REPORTED[trouble.code]
  if (!type) return undefined
  const { key, title, text, todo, count, since = began } = trouble
  const severity = trouble.severity === 'error' ? 'error' : 'warning'
  const where = Object.fromEntries(Object.entries(trouble.where).map(([name, value]) => [name, value ?? '']))
  return { key: `${key} ${began}`, type, data: { severity, title, text, todo, count, since, where } }
}

/**
 * Whether each daemon reports this trouble itself, rather than only the one daemon that reports for
 * all (see `isOurs` in notifier.ts).
 */
export function isLocal({ code }: Trouble): boolean {
  return LOCAL.includes(code)
}
