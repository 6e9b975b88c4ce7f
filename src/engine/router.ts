import { inspect } from 'node:util'
import { isJsonObject, pathGet } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { compilePattern, compilePrefix, needsRe2 } from '../core/pattern.ts'
import type { Route, RouteMatch } from '../core/route.ts'
import { defined } from '../lib/defined.ts'

export type Router = ReturnType<typeof createRouter>

/** Finds who answers a message, by the routes in force, which are compiled once. Throws for a bad pattern. */
export function createRouter(initial: readonly Route[]) {
  let routes: readonly Route[] = []
  let compiled: CompiledRoute[] = []
  let candidates = createCandidates(compiled)
  const use = (next: readonly Route[]) => {
    compiled = next.map((route) => ({ route, conditions: compileMatch(route.match) }))
    candidates = createCandidates(compiled)
    routes = next
  }
  use(initial)

  return {
    /** The first route that fits, or undefined. Never throws; takes time linear in the message. */
    match(message: Message): Route | undefined {
      for (const { route, conditions } of candidates(message)) if (fitsAll(conditions, message)) return route
      return undefined
    },
    /** For each route, in order: whether each of its keys fits, and what the message has there. `chosen`: the first that fits, which answers. */
    explain(message: Message) {
      let answered = false
      return compiled.map(({ route, conditions }) => {
        const keys = conditions.flatMap((condition) => {
          const { key, wanted, implied } = condition
          const matched = condition.test(message)
          // What the route does not say is worth a line only where it decides.
          if (implied && matched) return []
          return [{ key, matched, wanted: show(wanted), actual: show(condition.read(message)) }]
        })
        const matched = keys.every((key) => key.matched)
        const chosen = matched && !answered
        answered ||= matched
        const { name, skill, queue, bolt } = route
        return { route: name, ...defined({ skill, queue, bolt }), matched, chosen, keys }
      })
    },
    routes: (): readonly Route[] => routes,
    /** Puts other routes in force. Throws for a bad pattern; the configuration has refused those. */
    use,
  }
}

type CompiledRoute = { route: Route; conditions: readonly Condition[] }

function fitsAll(conditions: readonly Condition[], message: Matched): boolean {
  for (const condition of conditions) if (!condition.test(message)) return false
  return true
}

/** Places in the cache of candidates; more than any configuration has. */
const MAX_PLACES = 1_000

/**
 * Finds the routes that the gateway and the transport of a message leave, cached by both, with their other conditions, the
 * cheapest first: most messages are decided by the cache.
 */
function createCandidates(
  compiled: readonly CompiledRoute[],
): (message: Matched) => readonly CompiledRoute[] {
  const known = new Map<string, readonly CompiledRoute[]>()
  let latest: { gateway: string; transport: string; found: readonly CompiledRoute[] } | undefined

  const find = (message: Matched) =>
    compiled.flatMap(({ route, conditions }) => {
      const ofPlace = conditions.filter(isOfPlace)
      if (!fitsAll(ofPlace, message)) return []
      const others = conditions.filter((condition) => !isOfPlace(condition))
      return [{ route, conditions: others.sort((a, b) => a.cost - b.cost) }]
    })

  return (message) => {
    const { gateway, transport } = message
    if (latest?.gateway === gateway && latest.transport === transport) return latest.found
    const place = `${transport} ${gateway}`
    const found = known.get(place) ?? find(message)
    if (known.size >= MAX_PLACES) known.clear()
    known.set(place, found)
    latest = { gateway, transport, found }
    return found
  }
}

/** Whether a condition is the same for all messages of a gateway. */
function isOfPlace({ key }: Condition): boolean {
  return key === 'gateway' || key === 'transport'
}

const SHOWN = { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 80, maxArrayLength: 20 }

/** One line, of one level only: what lies deeper matches nothing, and may be nested without end. */
function show(value: unknown): string {
  const shown = Array.isArray(value) ? value.filter((each) => each !== undefined) : value
  if (shown === undefined || (Array.isArray(shown) && shown.length === 0)) return 'absent'
  const [only, ...others] = Array.isArray(shown) ? shown : [shown]
  return inspect(others.length === 0 ? only : shown, SHOWN).slice(0, 200)
}

/** What a `match` looks at. */
export type Matched = Pick<Message, 'gateway' | 'transport' | 'from' | 'to' | 'subject' | 'text' | 'data'>

/** One key of a route's `match`, compiled. */
type Condition = {
  key: string
  /** What the route asks for, as it was written. */
  wanted: readonly string[] | boolean
  /** What the message has under that key: a scalar, a list of them, or undefined. */
  read(message: Matched): unknown
  test(message: Matched): boolean
  /** The conditions of a route are tested in ascending cost. */
  cost: number
  /** It stands for what is not written in the route. */
  implied?: true
}

/** Compiles a `match` in the order of its keys; the last fits no notices, unless it asks for them. Throws for a bad pattern. */
function compileMatch(match: RouteMatch): Condition[] {
  const written = Object.entries(match).map(([key, wanted]) => {
    const read = reader(key)
    const fits = typeof wanted === 'boolean' ? undefined : valueTest(textTest(key, wanted))
    const test = fits
      ? (message: Matched) => fits(read(message))
      : (message: Matched) => (read(message) === true) === wanted
    return { key, wanted, read, test, cost: costOf(key, wanted) }
  })
  return Object.keys(match).some((key) => ASKS_FOR_NOTICES.has(key)) ? written : [...written, NO_NOTICE]
}

/** Tells whether a message fits a `match`, the cheapest of its conditions first. Throws for a bad pattern. */
export function compileMatcher(match: RouteMatch): (message: Matched) => boolean {
  const conditions = compileMatch(match).sort((a, b) => a.cost - b.cost)
  return (message) => fitsAll(conditions, message)
}

function costOf(key: string, wanted: readonly string[] | boolean): number {
  if (typeof wanted === 'boolean') return COST.flag
  if (wanted.some(needsRe2)) return COST.re2
  if (key === 'text') return COST.wholeText
  return key === 'prefix' ? COST.prefix : COST.field
}

const COST = { flag: 0, field: 1, prefix: 2, wholeText: 3, re2: 4 }

/** The keys that say what happened, in place of what was said. */
const ASKS_FOR_NOTICES = new Set(['event', 'reaction', 'data.event', 'data.reaction', 'data.notice'])

/** An answer to a notice (`data.notice: true`: an edit, a reaction) would surprise; a route has to ask for them. */
const NO_NOTICE: Condition = {
  key: 'data.notice',
  wanted: false,
  read: ({ data }) => data.notice,
  test: ({ data }) => data.notice !== true,
  cost: COST.flag,
  implied: true,
}

const FIELDS = new Map<string, (message: Matched) => unknown>([
  ['gateway', (message) => message.gateway],
  ['transport', (message) => message.transport],
  ['from', ({ from }) => [from.id, from.address, from.name]],
  ['verified', ({ from }) => from.verified],
  ['automatic', ({ data }) => data.auto !== undefined],
  ['to', (message) => message.to],
  ['subject', (message) => message.subject],
  ['text', (message) => message.text],
  ['prefix', (message) => message.text],
  ['thread', ({ data }) => [data.thread, data.mine === true ? 'mine' : undefined]],
])

function reader(key: string): (message: Matched) => unknown {
  if (key.startsWith('header.')) return headerReader(key.slice('header.'.length))
  if (key.startsWith('data.')) {
    const steps = key.slice('data.'.length).split('.')
    return (message) => pathGet(message.data, steps)
  }
  return FIELDS.get(key) ?? (({ data }) => (Object.hasOwn(data, key) ? data[key] : undefined))
}

/** Headers may be kept in any case, with one value or several. */
function headerReader(name: string): (message: Matched) => unknown {
  const folded = name.toLowerCase()
  return ({ data: { headers } }) => {
    if (!isJsonObject(headers)) return undefined
    if (Object.hasOwn(headers, folded)) return headers[folded]
    const spelled = Object.keys(headers).find((key) => key.toLowerCase() === folded)
    return spelled === undefined ? undefined : headers[spelled]
  }
}

function textTest(key: string, wanted: readonly string[]): (text: string) => boolean {
  const patterns = key === 'prefix' ? [compilePrefix(...wanted)] : wanted.map(compilePattern)
  const [only, ...others] = patterns
  return only && others.length === 0
    ? (text) => only.test(text)
    : (text) => patterns.some((each) => each.test(text))
}

/** Lists match when one of their values does. What is absent matches nothing, not even `*`. */
function valueTest(test: (text: string) => boolean): (value: unknown) => boolean {
  const scalar = (value: unknown) => {
    if (typeof value === 'string') return test(value)
    return (typeof value === 'number' || typeof value === 'boolean') && test(String(value))
  }
  return (value) => (Array.isArray(value) ? value.some(scalar) : scalar(value))
}
