import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { usedUpBudgets } from '../lib/used-up-budget.ts'
import { type Environs, loadFor } from './command.ts'
import type { Connection } from './connection.ts'
import { pendingRequests } from './pending-requests.ts'
import { budgetWaits, retriedMessages, runningMessages } from './route-retries.ts'
import { causesOf, gatewayTroubles, totalOf, workOf } from './route-work.ts'

type Daemon = Pick<Connection, 'running' | 'invoke' | 'status'>

/**
 * Adds to each route what holds its messages (`pauses`, of `pause-list`, and the `usedUp` budget of
 * its skill), how many wait for that
 * (`waiting`), or for a budget (`forBudget`), how many are tried again (`retrying`) and the number of its dead letters (`dead`),
 * both without tests, the number of requests that wait for a decision (`approvals`), the names of
 * its gateways that do not work (`down`) or refuse all deliveries (`refusing`), what is wrong with
 * its gateways (`gatewayTroubles`), and its attempts that run (`running`, see `runningOf`).
 */
export async function withStates(daemon: Daemon, routes: readonly JsonObject[]): Promise<JsonObject[]> {
  if (!daemon.running) return [...routes]
  const [pauses, letters, retried, running, status, requests, troubles, forBudget] = await Promise.all([
    ask(daemon, 'pause-list', {}),
    ask(daemon, 'dead-letter-groups', { queue: 'dispatch' }),
    retriedMessages(daemon),
    runningMessages(daemon),
    daemon.status().catch(() => null),
    pendingRequests(daemon),
    ask(daemon, 'troubles', {}),
    budgetWaits(daemon),
  ])
  const usedUp = usedUpIn(status)
  const states = routes.map(async (route) => {
    const own = objectsIn(pauses).filter((pause) => holds(pause, route))
    const budget = route.target === 'skill' ? usedUp.find(({ skill }) => skill === route.to) : undefined
    const waits = forBudget.filter((message) => message.route === route.name).length
    const down = downOf(route, status)
    const faults = gatewayTroubles(troubles, gatewaysOf(route))
    const refusing = refusingIn(faults)
    const dead = objectsIn(letters).filter(({ group }) => group === route.name)
    return {
      ...route,
      ...(own.length > 0 && {
        pauses: own,
        ...defined({ waiting: await heldBy(daemon, own, route, routes) }),
      }),
      ...(waits > 0 && { forBudget: waits, ...(own.length === 0 && { waiting: waits }) }),
      ...(budget && { usedUp: budget, ...defined({ waiting: await waitingOf(daemon, route) }) }),
      ...(down.length > 0 && { down }),
      ...(refusing.length > 0 && { refusing }),
      ...(faults.length > 0 && { gatewayTroubles: faults }),
      ...defined({ running: runningOf(route, running) }),
      retrying: retried.filter((message) => message.route === route.name).length,
      dead: sumOf(dead.map(({ count, tests = 0 }) => Number(count) - Number(tests))),
      approvals: requests.filter((request) => request.route === route.name).length,
    }
  })
  return Promise.all(states)
}

/** The used-up budgets in a status, by skill. */
export function usedUpIn(status: unknown) {
  const skills = objectsIn(pathGet(Object(status), 'skills'))
  return usedUpBudgets(
    objectsIn(pathGet(Object(status), 'budgets')),
    skills.map(({ name, kind }) => ({ name: String(name), kind })),
  )
}

/** The names of the gateways of a route that do not work. */
function downOf(route: JsonObject, status: unknown): string[] {
  const own = gatewaysOf(route)
  const gateways = objectsIn(pathGet(Object(status), 'gateways'))
  return gateways.flatMap(({ name, ok }) =>
    ok === false && own.includes(String(name)) ? [String(name)] : [],
  )
}

/** The names of the gateways that refuse all deliveries. */
function refusingIn(faults: readonly JsonObject[]): string[] {
  const found = faults.filter(({ code, severity }) => code === 'refusals' && severity === 'error')
  return [...new Set(found.map(({ gateway }) => String(gateway)))]
}

/**
 * The attempts of a route that run: their `count`, and for the longest the `id` of its message and
 * `since` when it runs.
 */
function runningOf({ name }: JsonObject, messages: readonly JsonObject[]): JsonObject | undefined {
  const own = messages.filter(({ route }) => route === name)
  const [longest] = own
  return longest && { count: own.length, ...defined({ id: longest.id, since: longest.since }) }
}

/**
 * The number of messages of a route that its pauses hold. Those of a pause that holds several routes
 * are counted by route; undefined if that takes too long, or if everything is paused.
 */
async function heldBy(
  daemon: Daemon,
  pauses: readonly JsonObject[],
  route: JsonObject,
  routes: readonly JsonObject[],
): Promise<number | undefined> {
  if (pauses.some(({ kind }) => kind === 'store')) return undefined
  const isOfRoute = pauses.every((pause) => isOnlyOf(pause, routes))
  return isOfRoute ? sumOf(pauses.map(({ waiting }) => Number(waiting ?? 0))) : waitingOf(daemon, route)
}

/** How many messages of a route wait. A pause of a skill or a gateway may hold several routes. */
function waitingOf(daemon: Daemon, route: JsonObject): Promise<number | undefined> {
  return numberOf(daemon, route, 'waiting')
}

/** How many messages of a route have an outcome; undefined if counting takes too long. */
async function numberOf(daemon: Daemon, { name }: JsonObject, outcome: string): Promise<number | undefined> {
  const filter = { route: name, outcome, since: '30d', buckets: 1 }
  return totalOf(await ask(daemon, 'message-histogram', filter))
}

/**
 * The route with its state, the messages that are tried again (`retries`), the routes that are tried
 * `before` it, the number of its messages whose reply was not delivered (`undelivered`), its last
 * message (`lastAt`), its messages of the last hour and day, or of a `range` as `period` (see `workOf`), the `causes` of its dead
 * letters, and why it can match nothing (`never`).
 */
export async function withFacts(
  daemon: Daemon,
  route: JsonObject,
  routes: readonly JsonObject[],
  environs: Environs,
  range?: { since: string; until?: string },
): Promise<JsonObject> {
  if (!daemon.running) return route
  const name = String(route.name)
  const asked = { route: name, ...(route.target === 'skill' && { skill: String(route.to) }) }
  const [states, newest, waiting, undelivered, lastHour, lastDay, causes, never, retries] = await Promise.all(
    [
      withStates(daemon, routes),
      ask(daemon, 'message-search', { route: name, limit: 1 }),
      waitingOf(daemon, route),
      numberOf(daemon, route, 'undelivered'),
      range ? undefined : workOf(daemon, asked, { since: '1h' }),
      range ? undefined : workOf(daemon, asked, { since: '1d' }),
      causesOf(daemon, name),
      neverOf(daemon, route, environs),
      retriedMessages(daemon, { route: name }),
    ],
  )
  const period = range && (await workOf(daemon, asked, range))
  const lastAt = pathGet(objectsIn(pathGet(newest, 'messages'))[0], 'at')
  return {
    ...states.find((state) => state.name === name),
    ...route,
    before: rivalsBefore(route, routes),
    ...(typeof lastAt === 'number' && { lastAt }),
    ...defined({
      waiting,
      undelivered,
      lastHour,
      lastDay,
      period: period && { name: nameOf(range), ...period },
    }),
    retrying: retries.length,
    ...(retries.length > 0 && { retries }),
    ...(causes.length > 0 && { causes }),
    ...(never.length > 0 && { never }),
  }
}

/** `last 2h`, or `chosen time`, for an age or a time. */
function nameOf({ since = '', until }: { since?: string; until?: string } = {}): string {
  return until === undefined && /^\d+[smhdw]$/.test(since) ? `last ${since}` : 'chosen time'
}

/** A route without a part of its state is more useful than an error. */
function ask(daemon: Daemon, operation: string, args: object): Promise<Json> {
  return daemon.invoke(operation, args).catch(() => null)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0)
}

function holds({ kind, name, routes }: JsonObject, route: JsonObject): boolean {
  if (kind === 'store') return true
  // Its skill calls a paused one.
  if (kind === 'skill' && Array.isArray(routes) && routes.includes(route.name ?? null)) return true
  if (kind === 'gateway') return gatewaysOf(route).includes(String(name))
  return (kind === 'route' && name === route.name) || (kind === 'skill' && isOfSkill(route, name))
}

function isOfSkill({ target, to }: JsonObject, skill: Json | undefined): boolean {
  return target === 'skill' && to === skill
}

/** Whether all messages that a pause holds are of one route. */
function isOnlyOf({ kind, name }: JsonObject, routes: readonly JsonObject[]): boolean {
  const affected = routes.filter((each) =>
    kind === 'skill' ? isOfSkill(each, name) : gatewaysOf(each).includes(String(name)),
  )
  return kind === 'route' || affected.length === 1
}

/** The literal names of the gateways that a route matches. */
function gatewaysOf({ match }: JsonObject): string[] {
  const names = [pathGet(match, 'gateway') ?? []].flat()
  return names.flatMap((name) => (typeof name === 'string' && !/[*?]/.test(name) ? [name] : []))
}

/** The routes of the file that are tried before a route for messages of its gateways. */
function rivalsBefore(route: JsonObject, routes: readonly JsonObject[]): string[] {
  const own = gatewaysOf(route)
  const at = routes.findIndex(({ name }) => name === route.name)
  const isRival = (other: JsonObject) => {
    const others = gatewaysOf(other)
    return others.length === 0 || own.length === 0 || others.some((each) => own.includes(each))
  }
  const before = routes.slice(0, at).filter((other) => !String(other.name).includes('@') && isRival(other))
  return before.map(({ name }) => String(name))
}

/**
 * Why a route can match nothing: all its gateways are off, or another route takes everything before
 * it.
 */
async function neverOf(daemon: Daemon, route: JsonObject, environs: Environs): Promise<string[]> {
  const [status, warnings] = await Promise.all([
    daemon.status().catch(() => null),
    loadFor(environs, { withoutVariables: 'except-store' })
      .then(({ warnings }) => warnings)
      .catch(() => []),
  ])
  const own = gatewaysOf(route)
  const off = objectsIn(pathGet(status, 'disabled')).filter(({ name }) => own.includes(String(name)))
  const isOff = own.length > 0 && off.length === own.length
  const covered = `unreachable route ${JSON.stringify(route.name)}: `
  return [
    ...(isOff ? off.map(({ name, why }) => `the gateway ${name} is off (${why})`) : []),
    ...warnings.flatMap(({ message }) =>
      message.startsWith(covered) ? [message.slice(covered.length)] : [],
    ),
  ]
}
