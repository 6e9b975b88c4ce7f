import { invoke } from './api.js'

/**
 * The filters that find the messages of an object that can be paused; none if its pause holds no
 * messages.
 */
export async function filtersOf({ kind, name, gateway }) {
  if (kind === 'gateway' || kind === 'route') return [{ [kind]: name }]
  if (kind === 'conversation') return [{ gateway, conversation: name }]
  if (kind !== 'skill') return []
  const routes = await invoke('route-list')
  return routes.filter(({ to }) => to === name).map((route) => ({ route: route.name }))
}

/**
 * The number of messages of such an object with an outcome: `{ many, isCut }`, where `isCut` means
 * that there may be more. Undefined if it cannot be read.
 */
export async function countWith(outcome, of) {
  try {
    const filters = await filtersOf(of)
    const counts = await Promise.all(
      filters.map((filter) => invoke('message-histogram', { ...filter, outcome, buckets: 1 })),
    )
    const many = counts.reduce((sum, { total }) => sum + total, 0)
    return { many, isCut: counts.some(({ countedTo }) => countedTo !== undefined) }
  } catch {
    return undefined
  }
}
