import type { ApprovalService } from '../../core/approval.ts'
import { OPERATIONS_TOPIC } from '../../core/event.ts'
import { toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { DeadLetter, Store } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { createLoop } from '../../lib/loop.ts'
import { createDeadLetterScan } from './dead-letter-scan.ts'
import { createLeftovers } from './leftovers.ts'
import type { Notify } from './notify.ts'
import { approvalEvent, deadLetterEvent, isLocal, type NotifyEvent } from './notify-events.ts'
import type { NotifyRule } from './schema.ts'
import { createTroublePublisher } from './trouble-publisher.ts'

export type Notifier = ReturnType<typeof createNotifier>

/** The lease of the daemon that looks for dead letters and sends notifications. */
const LEASE = 'notify'
/** Duration (ms) of the lease. */
const LEASE_TIME = 9_000
/** Interval (ms) at which the lease is renewed. */
const RENEW_INTERVAL = 3_000
/** Maximum interval (ms) between checks for dead letters and approvals. */
const CHECK_INTERVAL = 1_000
/** Minimum interval (ms) between checks of the troubles. */
const TROUBLES_INTERVAL = 2_000
const MAX_APPROVALS = 1_000

type NotifierDeps = {
  store: Store
  notify: Pick<Notify, 'rules' | 'answer'>
  approvals: Pick<ApprovalService, 'list'>
  troubles(): Promise<readonly Trouble[]>
  /** The name of this daemon, for the lease. */
  owner: string
  log: Log
  now(): number
}

/**
 * Publishes problems on `trivium-operations`, sends the notifications that are due by the rules of
 * `notify:`, and answers the senders of failed messages.
 */
export function createNotifier(deps: NotifierDeps) {
  const { store, notify, log } = deps
  const hasLease = createLeaseCheck(deps)
  const publishNew = createPublisher(deps)
  const leftovers = createLeftovers(store, deps.now)
  let isRunning = false

  const send = createSending(notify, log)
  const loop = createLoop({
    async step() {
      const isOurs = await hasLease()
      await publishNew(isOurs)
      if (!isOurs) return CHECK_INTERVAL
      await leftovers.check(new Set(notify.rules().map(({ rule }) => rule.id)))
      return send()
    },
    failed: (err) => log.warn({ err }, 'notifications could not be processed; trying again'),
    pause: CHECK_INTERVAL,
  })

  return {
    start(): void {
      isRunning = true
      loop.start()
    },
    async stop(): Promise<void> {
      if (!isRunning) return
      await loop.stop()
      await store.leases.release(LEASE, deps.owner).catch(() => {})
    },
  }
}

/**
 * Sends due notifications. A rule that fails is tried again later, and does not delay the others.
 */
function createSending(notify: Pick<Notify, 'rules'>, log: Log) {
  /** The ids of rules that failed at the last check, which are logged once. */
  let failing = new Set<string>()
  /** Resolves with the ms until the next check. */
  return async (): Promise<number> => {
    let next = CHECK_INTERVAL
    const failed = new Set<string>()
    for (const each of notify.rules()) {
      const { id } = each.rule
      try {
        let wait = await each.step()
        while (wait === 0) wait = await each.step()
        if (wait !== undefined) next = Math.min(next, wait)
      } catch (err) {
        failed.add(id)
        if (!failing.has(id)) log.warn({ rule: id, err }, 'a rule of `notify` failed; trying again')
      }
    }
    failing = failed
    return next
  }
}

/** Whether this daemon has the lease. Renews it every few seconds. */
function createLeaseCheck({ store, owner, now }: Pick<NotifierDeps, 'store' | 'owner' | 'now'>) {
  let renewedAt = Number.NEGATIVE_INFINITY
  return async (): Promise<boolean> => {
    const age = now() - renewedAt
    if (age >= 0 && age < RENEW_INTERVAL) return true
    const at = now()
    const isOurs = (await store.leases.acquire(LEASE, owner, LEASE_TIME)) !== undefined
    renewedAt = isOurs ? at : Number.NEGATIVE_INFINITY
    return isOurs
  }
}

/**
 * Returns the function that looks for events and publishes them. A trouble of a single daemon
 * (`isLocal`) is published by that daemon, everything else by the holder of the lease (`isOurs`).
 */
function createPublisher({ notify, approvals, store, now, log, ...deps }: NotifierDeps) {
  const rules = () => notify.rules().map(({ rule }) => rule)
  const deadLetters = createDeadLetterScan(store, now)
  const publish = async (events: readonly NotifyEvent[]) => {
    if (events.length === 0) return
    const newEvents = events.map(({ data, ...rest }) => ({ ...rest, source: 'trivium', data: toJson(data) }))
    await store.topics.publish(OPERATIONS_TOPIC, newEvents)
  }
  const publishTroubles = createTroublePublisher({ kv: store.kv, publish, now })
  /** The ids of pending approvals that were published. */
  const publishedApprovals = new Set<string>()
  let troublesCheckedAt = Number.NEGATIVE_INFINITY

  const publishDeadLetters = async () => {
    const { letters, handled } = await deadLetters.scan()
    const others = letters.filter((letter) => !isOfNotification(letter, rules()))
    await publish(others.flatMap((letter) => deadLetterEvent(letter) ?? []))
    for (const letter of others) {
      await notify.answer(letter).catch((err) => {
        if (err?.retryable) throw err
        log.warn({ messageId: letter.message?.id, err }, 'the sender could not be notified of the failure')
      })
    }
    await handled()
  }
  const publishApprovals = async () => {
    const pending = await approvals.list({ status: 'pending', limit: MAX_APPROVALS })
    const unpublished = pending.filter(({ id }) => !publishedApprovals.has(id))
    await publish(unpublished.map(approvalEvent))
    publishedApprovals.clear()
    for (const { id } of pending) publishedApprovals.add(id)
  }
  const checkTroubles = async (isOurs: boolean) => {
    troublesCheckedAt = now()
    const ownSubscriptions = new Set(
      rules().flatMap((rule) => ('subscription' in rule ? rule.subscription.name : [])),
    )
    const found = (await deps.troubles()).filter(
      ({ where }) => !ownSubscriptions.has(where.subscription ?? ''),
    )
    await publishTroubles(found.filter((trouble) => isOurs || isLocal(trouble)))
  }

  return async (isOurs: boolean): Promise<void> => {
    if (isOurs) await publishDeadLetters()
    if (isOurs) await publishApprovals()
    if (Math.abs(now() - troublesCheckedAt) >= TROUBLES_INTERVAL) await checkTroubles(isOurs)
  }
}

/**
 * Whether the dead letter is of a notification. It is not reported: that could fail too, and so on
 * forever. The list of troubles shows it.
 */
function isOfNotification({ id, queue }: DeadLetter, rules: readonly NotifyRule[]): boolean {
  if (queue === 'outbox') return id.startsWith('outbox:notify:')
  return rules.some((rule) => 'subscription' in rule && queue === `push/${rule.subscription.name}`)
}
