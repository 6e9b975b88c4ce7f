import { invoke } from './api.js'

/**
 * The filters that find the messages of an object that can be paused; none if its pause holds no
 * messages. Messages also wait for a skill because another one called it: `routes` are those of its
 * pause, if it is known.
 */
export async function filtersOf({ kind, name, gateway, routes: known }) {
  if (kind === 'gateway' || kind === 'route') return [{ [kind]: name }]
  if (kind === 'conversation') return [{ gateway, conversation: name }]
  if (kind !== 'skill') return []
  const [routes, calling] = await Promise.all([invoke('route-list'), known ?? routesOfPause(name)])
  const own = routes.filter(({ to }) => to === name).map((route) => route.name)
  return [...new Set([...own, ...calling])].map((route) => ({ route }))
}

/** The routes of the messages that wait for the pause of a skill. */
async function routesOfPause(skill) {
  return (await pauseOfSkill(skill))?.routes ?? []
}

async function pauseOfSkill(skill) {
  const pauses = await invoke('pause-list')
  return pauses.find(({ kind, name }) => kind === 'skill' && name === skill)
}

/** Number of runs of schedules and events that wait for a pause. If it cannot be read, the known one. */
export async function heldRuns({ kind, name, runs = 0 }) {
  if (kind !== 'skill') return 0
  return pauseOfSkill(name).then(
    (pause) => pause?.runs ?? 0,
    () => runs,
  )
}

/** Maximum number of messages of an object that are read. */
export const MAX_READ = 200

/**
 * The messages that wait for a pause: the ids of those that only this pause holds (`ids`) and of
 * those that another pause holds too (`others`); `messages`: the former, newest first;
 * `routeOf`: their routes by id. `isCut`:
 * there may be more.
 */
export async function heldBy({ kind, name, gateway, routes }) {
  const filters = await filtersOf({ kind, name, gateway, routes })
  const found = await Promise.all(
    filters.map((filter) => invoke('message-search', { ...filter, outcome: 'waiting', limit: MAX_READ })),
  )
  const read = found.flatMap(({ messages }) => messages).slice(0, MAX_READ)
  const waiting = read.map(({ id }) => id)
  const attempts = waiting.length > 0 ? await invoke('message-attempts', { ids: waiting }) : []
  const held = attempts.filter(({ pausedBy = [] }) =>
    pausedBy.some((pause) => pause.kind === kind && pause.name === name),
  )
  const idsOf = (isOnly) =>
    held.filter(({ pausedBy }) => (pausedBy.length === 1) === isOnly).map(({ id }) => id)
  const isCut = waiting.length === MAX_READ || found.some(({ next }) => next !== undefined)
  const ids = idsOf(true)
  const messages = read.filter(({ id }) => ids.includes(id))
  const routeOf = new Map(held.map(({ id, route }) => [id, route]))
  return { ids, others: idsOf(false), messages, routeOf, isCut }
}

/**
 * The number of messages of such an object with an outcome: `{ many, isCut }`, where `isCut` means
 * that there may be more. Undefined if it cannot be read.
 */
export async function countWith(outcome, of) {
  try {
    const filters = await filtersOf({ ...of, routes: [] })
    const counts = await Promise.all(
      filters.map((filter) => invoke('message-histogram', { ...filter, outcome, buckets: 1 })),
    )
    const many = counts.reduce((sum, { total }) => sum + total, 0)
    return { many, isCut: counts.some(({ countedTo }) => countedTo !== undefined) }
  } catch {
    return undefined
  }
}
