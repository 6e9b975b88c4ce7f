import type { NotifyRule } from '../../config/schema/notify.ts'
import type { ApprovalService } from '../../core/approval.ts'
import { OPERATIONS_TOPIC } from '../../core/event.ts'
import { toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { DeadLetter, Store } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import type { Outbox } from '../../engine/outbox.ts'
import type { Router } from '../../engine/router.ts'
import { createLoop } from '../../lib/loop.ts'
import { createDeadLetterScan } from './dead-letter-scan.ts'
import { approvalHappening, deadLetterHappening, type Happening, isLocal } from './happenings.ts'
import { createLasting } from './lasting.ts'
import { createFailureAnswers } from './on-failure.ts'
import { createRule } from './rule.ts'

export type Notify = ReturnType<typeof createNotify>

/** The lease of the daemon that looks for dead letters and sends notifications. */
const LEASE = 'notify'
const LEASE_TIME = 9_000
const RENEW = 3_000
/** Intervals (ms) for checking dead letters and approvals, and the list of troubles. */
const LOOK = 1_000
const LOOK_AT_TROUBLES = 2_000
const MOST_APPROVALS = 1_000

type NotifyDeps = {
  store: Store
  outbox: Pick<Outbox, 'sendTo' | 'reply'>
  router: Pick<Router, 'match' | 'routes'>
  approvals: Pick<ApprovalService, 'list'>
  /** The name of this daemon, for the lease. */
  owner: string
  log: Log
  now(): number
}

/**
 * Publishes problems on `trivium-operations`, notifies people by the rules of `notify:`, and
 * answers the senders of failed messages.
 */
export function createNotify(deps: NotifyDeps) {
  const { store, log } = deps
  const answers = createFailureAnswers(deps)
  const holds = createHold(deps)
  let rules: ReturnType<typeof createRule>[] = []
  let isRunning = false
  let listTroubles: () => Promise<readonly Trouble[]> = async () => []
  const look = createLooks(deps, {
    answer: answers.answer,
    rules: () => rules.map(({ rule }) => rule),
    troubles: () => listTroubles(),
  })

  const send = async (): Promise<number> => {
    let next = LOOK
    for (const rule of rules) {
      let wait = await rule.step()
      while (wait === 0) wait = await rule.step()
      if (wait !== undefined) next = Math.min(next, wait)
    }
    return next
  }
  const loop = createLoop({
    async step() {
      const isOurs = await holds()
      await look(isOurs)
      return isOurs ? send() : LOOK
    },
    failed: (err) => log.warn({ err }, 'notifications could not be processed; trying again'),
    pause: LOOK,
  })

  return {
    /** Applies rules. Resolves once their consumer groups exist. */
    async use(next: readonly NotifyRule[]): Promise<void> {
      const made = next.map((rule) => createRule(rule, deps))
      for (const each of made) await each.begin()
      rules = made
    },
    /**
     * The outcome of a message for a waiting request: a failure with an `on-failure` answer counts
     * as done.
     */
    settled: async <Outcome>(messageId: string, outcome: Outcome): Promise<Outcome | 'done'> =>
      outcome === 'failed' && (await answers.answerNow(messageId)) ? 'done' : outcome,
    start(troubles: () => Promise<readonly Trouble[]>): void {
      listTroubles = troubles
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

/** Whether this daemon has the lease. Renews it every few seconds. */
function createHold({ store, owner, now }: Pick<NotifyDeps, 'store' | 'owner' | 'now'>) {
  let heldSince = Number.NEGATIVE_INFINITY
  return async (): Promise<boolean> => {
    const age = now() - heldSince
    if (age >= 0 && age < RENEW) return true
    const at = now()
    const isOurs = (await store.leases.acquire(LEASE, owner, LEASE_TIME)) !== undefined
    heldSince = isOurs ? at : Number.NEGATIVE_INFINITY
    return isOurs
  }
}

/** Looks for events and publishes them. Events of a daemon are published by that daemon. */
function createLooks(
  deps: NotifyDeps,
  parts: {
    answer(letter: DeadLetter): Promise<boolean>
    rules(): readonly NotifyRule[]
    troubles(): Promise<readonly Trouble[]>
  },
) {
  const { answer, rules } = parts
  const { store, now, log } = deps
  const scan = createDeadLetterScan(store, now)
  const publish = async (happenings: readonly Happening[]) => {
    const events = happenings.map(({ key, type, data }) => ({
      key,
      type,
      source: 'trivium',
      data: toJson(data),
    }))
    if (events.length > 0) await store.topics.publish(OPERATIONS_TOPIC, events)
  }
  const lasting = createLasting({ kv: store.kv, publish, now })
  const asked = new Set<string>()
  let lookedAt = Number.NEGATIVE_INFINITY

  const lookForLetters = async () => {
    const { letters, handled } = await scan.look()
    const others = letters.filter((letter) => !isOfNotification(letter, rules()))
    await publish(others.flatMap((letter) => deadLetterHappening(letter) ?? []))
    for (const letter of others) {
      await answer(letter).catch((err) => {
        if (err?.retryable) throw err
        log.warn({ messageId: letter.message?.id, err }, 'the sender could not be notified of the failure')
      })
    }
    await handled()
  }
  const lookForApprovals = async () => {
    const open = await deps.approvals.list({ status: 'pending', limit: MOST_APPROVALS })
    const fresh = open.filter(({ id }) => !asked.has(id))
    await publish(fresh.map(approvalHappening))
    asked.clear()
    for (const { id } of open) asked.add(id)
  }
  const lookAtTroubles = async (isOurs: boolean) => {
    lookedAt = now()
    const names = new Set(rules().flatMap((rule) => ('subscription' in rule ? rule.subscription.name : [])))
    const found = (await parts.troubles()).filter((one) => !names.has(one.where.subscription ?? ''))
    await lasting(found.filter((one) => isOurs || isLocal(one)))
  }

  return async (isOurs: boolean): Promise<void> => {
    if (isOurs) await lookForLetters()
    if (isOurs) await lookForApprovals()
    if (Math.abs(now() - lookedAt) >= LOOK_AT_TROUBLES) await lookAtTroubles(isOurs)
  }
}

/**
 * Notifications that could not be sent are not notified about, as this could go on forever. The
 * list of troubles shows them.
 */
function isOfNotification({ id, queue }: DeadLetter, rules: readonly NotifyRule[]): boolean {
  if (queue === 'outbox') return id.startsWith('outbox:notify:')
  return rules.some((rule) => 'subscription' in rule && queue === `push/${rule.subscription.name}`)
}
