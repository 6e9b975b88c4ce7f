import type { BudgetStatus } from '../../src/core/budget.ts'

type Values = readonly (readonly [value: string, meaning: string])[]

const BUDGETS: Record<BudgetStatus['budget'], string> = {
  total: 'The budget of everyone.',
  sender: 'The budget of one sender.',
  skill: 'The budget of one skill.',
}

/** The labels of metrics whose values Trivium defines. */
export const LABEL_VALUES: readonly { label: string; values: Values }[] = [
  {
    label: '`trivium_dispatched_total`, `outcome`',
    values: [
      ['done', 'The skill finished.'],
      ['retry', 'The attempt failed, and is tried again.'],
      ['dead', 'The last attempt failed: a dead letter.'],
      ['dropped', 'A person handles the conversation; the skill was not called.'],
      ['unrouted', 'No route matched (`route` is empty).'],
    ],
  },
  {
    label: '`trivium_sent_total`, `outcome`',
    values: [
      ['sent', 'The provider accepted the reply.'],
      ['suppressed', 'The transport did not send it, such as a reply to automatic mail.'],
      ['retry', 'The attempt failed, and is tried again.'],
      ['dead', 'It failed permanently: a dead letter.'],
    ],
  },
  {
    label: '`trivium_pushed_total`, `outcome`',
    values: [
      ['sent', 'The receiver answered with 2xx.'],
      ['retry', 'The attempt failed, and is tried again.'],
      ['dead', 'The last attempt failed: a dead letter.'],
    ],
  },
  {
    label: '`road`',
    values: [
      ['journal', 'All messages that are kept (`trivium_depth`).'],
      ['dispatch', 'Messages for routes.'],
      ['receive', 'Messages for workers (`gateway-receive`).'],
      ['outbox', 'Replies.'],
    ],
  },
  {
    label: '`trivium_jobs`, `state`',
    values: [
      ['waiting', 'Not started, or waiting for the next attempt.'],
      ['running', 'Claimed by a daemon.'],
    ],
  },
  {
    label: '`queue`',
    values: [
      ['dispatch', 'Messages for routes.'],
      ['receive', 'Messages of workers that reached `max-deliveries` (dead letters only).'],
      ['events', 'Events that reached `max-deliveries` of a consumer group (dead letters only).'],
      ['outbox', 'Replies.'],
      ['subscriptions', 'Events for skills (`event-subscribe` with `ref`).'],
      ['schedules', 'Runs of schedules.'],
      ['push/NAME', 'Events for a push subscription.'],
    ],
  },
  {
    label: '`trivium_troubles`, `code`',
    values: [['…', 'The codes of the [list of problems](../monitoring.md#problems).']],
  },
  {
    label: '`trivium_model_budget_refused_total`, `budget`',
    values: Object.entries(BUDGETS),
  },
]

type Reason = { reason: string; transport: string; meaning: string; isIntended?: boolean }

/**
 * The reasons of refusals that are not error codes, and the error codes that the alert leaves out
 * (`isIntended`). A test compares them with the source and the alerts.
 */
export const REFUSAL_REASONS: readonly Reason[] = [
  {
    reason: 'reply:…',
    transport: 'email',
    isIntended: true,
    meaning:
      'A reply was not sent: `reply:list`, `reply:auto-submitted` and so on for automatic mail, `reply:too-old`, `reply:not-addressed`, and `reply:budget` if too many replies went to one correspondent. See [email in depth](../email-in-depth.md).',
  },
  {
    reason: 'bounce',
    transport: 'email',
    isIntended: true,
    meaning: 'The bounce of a sent email. It is recorded at its message, and does not become a message.',
  },
  {
    reason: 'sender',
    transport: 'email',
    isIntended: true,
    meaning: '`allowed-senders` does not name the sender.',
  },
  {
    reason: 'authentication',
    transport: 'email',
    isIntended: true,
    meaning: 'The sender could not be verified, and `authentication` requires it.',
  },
  {
    reason: 'unfetchable',
    transport: 'email',
    meaning: 'An email cannot be read from the mailbox. It is tried again.',
  },
  { reason: 'unknown_team', transport: 'slack', meaning: 'An event of a workspace that is not installed.' },
  { reason: 'install_failed', transport: 'slack', meaning: 'The installation in a workspace failed.' },
  {
    reason: 'incomplete',
    transport: 'slack',
    meaning: 'Files, names or the thread of an event could not be read in time. Slack delivers it again.',
  },
  {
    reason: 'answer_failed',
    transport: 'slack',
    meaning: 'A skill of `answers` did not answer in time, or failed.',
  },
  {
    reason: 'method_not_allowed',
    transport: 'webhook',
    isIntended: true,
    meaning: 'A request with another method, mostly of scanners.',
  },
  {
    reason: 'stopping',
    transport: 'all',
    isIntended: true,
    meaning: 'The daemon was stopping. The sender tries again.',
  },
  {
    reason: 'store_unavailable',
    transport: 'all',
    isIntended: true,
    meaning: 'The store is down or full; `TriviumStoreAway` reports it.',
  },
]
