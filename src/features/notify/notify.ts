import type { Store } from '../../core/store.ts'
import type { Outbox } from '../../engine/outbox.ts'
import type { Router } from '../../engine/router.ts'
import { createFailureAnswers } from './on-failure.ts'
import { createRule } from './rule.ts'
import type { NotifyRule } from './schema.ts'

export type Notify = ReturnType<typeof createNotify>

/**
 * The rules of `notify:`, and the answers to senders of failed messages. `createNotifier` calls
 * both.
 */
export function createNotify(deps: {
  store: Store
  outbox: Pick<Outbox, 'sendTo' | 'reply'>
  router: Pick<Router, 'match' | 'routes'>
  now(): number
}) {
  const answers = createFailureAnswers(deps)
  let rules: readonly ReturnType<typeof createRule>[] = []

  return {
    /** Applies rules. Resolves once their consumer groups exist. */
    async use(next: readonly NotifyRule[]): Promise<void> {
      const created = next.map((rule) => createRule(rule, deps))
      for (const rule of created) await rule.begin()
      rules = created
    },
    /** The current rules. */
    rules: () => rules,
    /**
     * Answers the sender of a dead letter. Resolves with whether there is an answer. Idempotent.
     */
    answer: answers.answer,
    /**
     * The outcome that a waiting request gets: a failed message with an `on-failure` answer counts
     * as done.
     */
    outcomeFor: async <Outcome>(messageId: string, outcome: Outcome): Promise<Outcome | 'done'> =>
      outcome === 'failed' && (await answers.answerNow(messageId)) ? 'done' : outcome,
  }
}
