import type { DeadLetter, Store } from '../../core/store.ts'
import { HOUR } from '../../core/units.ts'
import { DISPATCH_QUEUE } from '../../engine/dispatch-queue.ts'
import type { Outbox } from '../../engine/outbox.ts'
import type { Router } from '../../engine/router.ts'

/** Maximum age (ms) of a dead letter whose sender is still answered. */
const MAX_AGE = 24 * HOUR

/**
 * Answers the sender of a dead letter once, where their message came from, if its route has
 * `on-failure`. Automatic mail gets no answer, as with every reply.
 */
export function createFailureAnswers(deps: {
  store: { jobs: Pick<Store['jobs'], 'deadLetters'> }
  router: Pick<Router, 'match' | 'routes'>
  outbox: Pick<Outbox, 'reply'>
  now(): number
}) {
  const { store, router, outbox, now } = deps

  /** Resolves with whether there is an answer. Idempotent. */
  const answer = async ({ queue, group, message, at }: DeadLetter): Promise<boolean> => {
    if (queue !== DISPATCH_QUEUE || !message || at < now() - MAX_AGE) return false
    const route = router.routes().find(({ name }) => name === group) ?? router.match(message)
    const text = route?.['on-failure']
    if (!route || text === undefined) return false
    const reply = { key: `on-failure:${message.id}`, text, by: `route ${route.name}` }
    return (await outbox.reply(message, reply)).unsent === undefined
  }

  return {
    answer,
    /** Answers a message whose dispatch has failed. Resolves with whether there is an answer. */
    async answerNow(messageId: string): Promise<boolean> {
      const letter = await store.jobs.deadLetters.get(messageId, DISPATCH_QUEUE)
      return letter ? answer(letter) : false
    },
  }
}
