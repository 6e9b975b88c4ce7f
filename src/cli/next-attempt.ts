import { type Json, objectsIn, pathGet } from '../core/json.ts'
import { BUDGETS, budgetWaitOf } from '../lib/budget-wait.ts'
import { defined } from '../lib/defined.ts'
import { lastAttemptAfter, RETRIED_EARLY, TEST_LASTS } from '../lib/last-attempt.ts'
import type { Connection } from './connection.ts'
import { usedUpIn } from './route-facts.ts'

/**
 * Adds to a message its running attempt (`attempt`, as in `message-attempts`), or its `next` one if
 * it is retried.
 */
export async function withOwnAttempt(
  daemon: Pick<Connection, 'running' | 'invoke'>,
  found: Json,
): Promise<Json> {
  if (pathGet(found, 'outcome') !== 'running') return withNextAttempt(daemon, found)
  const ids = [String(pathGet(found, 'message.id'))]
  const attempts = daemon.running ? await daemon.invoke('message-attempts', { ids }).catch(() => []) : []
  return { ...Object(found), ...defined({ attempt: objectsIn(attempts)[0] }) }
}

/**
 * Adds its `next` attempt to a message that is retried: when it begins (`at`), its number
 * (`attempt`), the number of the last attempt before the message becomes a dead letter (`of`), and
 * when that one begins at the latest (`givesUpAt`), without the time that attempts take. A test has
 * `endsAt` instead if no attempt begins after that time, and it may end before the attempt `of`.
 */
async function withNextAttempt(daemon: Pick<Connection, 'running' | 'invoke'>, found: Json): Promise<Json> {
  if (pathGet(found, 'outcome') !== 'retrying') return found
  const last = objectsIn(pathGet(found, 'history')).findLast(
    ({ road, what }) => road === 'dispatch' && what !== RETRIED_EARLY,
  )
  const { route, attempt, delay } = Object(last?.detail)
  if (last?.what !== 'failed' || typeof delay !== 'number') return found
  const next = { at: Number(last.at) + delay, attempt: Number(attempt) + 1 }
  const routes = daemon.running ? await daemon.invoke('route-list', {}).catch(() => []) : []
  const retry = objectsIn(routes).find(({ name }) => name === route)?.retry
  const isTest = pathGet(found, 'message.data.replyTarget.test') === true
  const endsAt = isTest ? Number(pathGet(found, 'message.receivedAt')) + TEST_LASTS : undefined
  return { ...Object(found), next: { ...next, ...lastAttemptAfter(next, Object(retry), endsAt) } }
}

/**
 * Adds the `budget` that a message waits for, now or after its pauses: its owner, and when it is
 * available again.
 */
export async function withBudget(daemon: Pick<Connection, 'running' | 'status'>, found: Json): Promise<Json> {
  if (!daemon.running || !/^(waiting|retrying|approval)$/.test(String(pathGet(found, 'outcome'))))
    return found
  const usedUp = usedUpIn(await daemon.status().catch(() => null))
  const own = usedUp.find(({ skill }) => skill === pathGet(found, 'skill'))
  const budget = budgetWaitOf(own, objectsIn(pathGet(found, 'history')), Date.now())
  return budget ? { ...Object(found), budget: { ...budget, whose: BUDGETS[budget.of] } } : found
}

/** Adds the `skills` of its routes to a message: entries of attempts name only the route. */
export async function withSkills(daemon: Pick<Connection, 'running' | 'invoke'>, found: Json): Promise<Json> {
  const attempts = objectsIn(pathGet(found, 'history')).filter(({ detail }) =>
    pathGet(detail ?? null, 'route'),
  )
  if (!daemon.running || attempts.length === 0) return found
  const routes = objectsIn(await daemon.invoke('route-list', {}).catch(() => []))
  const skills = routes.flatMap(({ name, target, to }) => (target === 'skill' ? [[name, to]] : []))
  return { ...Object(found), skills: Object.fromEntries(skills) }
}
