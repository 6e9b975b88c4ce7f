import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'
import { pendingRequests } from './pending-requests.ts'
import { usedUpIn } from './route-facts.ts'
import { retriedMessages } from './route-retries.ts'
import { skillPauseEffect } from './skill-pause-effect.ts'

type Daemon = Pick<Connection, 'running' | 'invoke' | 'status'>

/**
 * Adds to each skill its `usage` of the last seven days (`skill-usage`), its pause (`paused`, of
 * `pause-list`), its used-up budget (`usedUp`), the `routes` that call it, the number of requests for its runs or its calls that
 * wait for a decision (`approvals`), and the `currency` of its cost. Only a daemon knows them.
 */
export async function withHealth(daemon: Daemon, skills: readonly JsonObject[]): Promise<JsonObject[]> {
  if (!daemon.running) return [...skills]
  const [usages, ...known] = await Promise.all([ask(daemon, 'skill-usage', {}), ...healthOf(daemon)])
  const byName = new Map(objectsIn(usages).map(({ name, ...usage }) => [name, usage]))
  return skills.map((skill) => ({
    ...skill,
    ...defined({ usage: byName.get(skill.name) }),
    ...factsFor(skill.name, known),
  }))
}

/**
 * Like `withHealth`, for one skill. Its `usage` also has its last runs and errors. `limits`:
 * the time and attempts of its routes; `retried`: its messages that are tried again, the next first;
 * `budgets`: its own; `pauseEffect` says what its pause holds.
 */
export async function withHealthOf(daemon: Daemon, skill: Json): Promise<Json> {
  const name = pathGet(skill, 'name')
  if (!daemon.running) return skill
  const [found, ...known] = await Promise.all([ask(daemon, 'skill-usage', { name }), ...healthOf(daemon)])
  const { name: _, ...usage } = Object(found)
  const facts = factsFor(name, known)
  const own = objectsIn(known[1]).filter(({ target, to }) => target === 'skill' && to === name)
  const limits = own.map(({ name: route, timeout, retry }) => defined({ route, timeout, retry }))
  const retried = await retriedOf(daemon, own)
  const budgets = objectsIn(pathGet(known[2], 'budgets')).filter(({ skill }) => skill === name)
  const pauseEffect = facts.paused && (await skillPauseEffect(daemon, String(name)))
  return {
    ...Object(skill),
    ...(found !== null && { usage }),
    ...facts,
    ...(budgets.length > 0 && { budgets }),
    ...defined({ limits, retried, pauseEffect }),
  }
}

/** The messages of routes that are tried again, the next attempt first. */
async function retriedOf(daemon: Daemon, routes: readonly JsonObject[]): Promise<JsonObject[]> {
  const found = routes.map(({ name }) => retriedMessages(daemon, { route: String(name) }))
  return (await Promise.all(found)).flat().sort((a, b) => Number(a.nextAt) - Number(b.nextAt))
}

type Known = readonly [
  pauses: Json,
  routes: Json,
  cost: Json,
  requests: readonly JsonObject[],
  usedUp: ReturnType<typeof usedUpIn>,
]

function healthOf(daemon: Daemon) {
  return [
    ask(daemon, 'pause-list', {}),
    ask(daemon, 'route-list', {}),
    // Only for the currency: `skill-usage` has the cost.
    ask(daemon, 'cost', { by: 'skill', since: '1d' }),
    pendingRequests(daemon),
    daemon.status().then(usedUpIn, () => []),
  ] as const
}

/** A list without a part of the health is more useful than an error. */
function ask(daemon: Daemon, operation: string, args: object): Promise<Json> {
  return daemon.invoke(operation, args).catch(() => null)
}

function factsFor(name: unknown, [pauses, routes, cost, requests, usedUp]: Known) {
  const paused = objectsIn(pauses).find((pause) => pause.kind === 'skill' && pause.name === name)
  const approvals = requests.filter(({ skill, calledBy }) => skill === name || calledBy === name).length
  const currency = pathGet(cost, 'currency')
  const own = objectsIn(routes).filter(({ target, to }) => target === 'skill' && to === name)
  return {
    ...defined({ paused, usedUp: usedUp.find(({ skill }) => skill === name) }),
    ...(approvals > 0 && { approvals }),
    ...(typeof currency === 'string' && { currency }),
    ...(own.length > 0 && { routes: own.map((route) => String(route.name)) }),
  }
}
