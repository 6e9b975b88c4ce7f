import { shownAuthor } from '../../core/author.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import type { Pull } from '../../engine/pulls.ts'
import { counted } from '../../lib/counted.ts'
import { dayAndTime, warning } from './trouble-parts.ts'

/** Workers that have not called for this long (ms) have probably stopped. */
const QUIET = 15 * MINUTE
/** A worker that waits in a call takes a new message at once. It does not wait for this long (ms). */
const LONG_WAIT = 5 * MINUTE

const CODE = 'backlog'
const ROAD = 'receive'

/**
 * Gateways whose workers have stopped: messages wait, and nobody has pulled for a while. Messages of
 * a gateway with a route are handled without workers, and are no trouble. `at`: Unix ms.
 */
export function pullTroubles(pulls: readonly Pull[], at: number): Trouble[] {
  return pulls.flatMap(({ gateway, hasRoute, last, backlog: { messages: count, oldestAt = at } }) => {
    if (hasRoute || count === 0 || at - last.at < QUIET || at - oldestAt < LONG_WAIT) return []
    const title = `${counted(count, 'message')} of ${gateway} ${count === 1 ? 'is' : 'are'} not pulled`
    const text = `Its workers have stopped calling: the last pull was on ${dayAndTime(last.at)}, by ${shownAuthor(last.by)}.`
    const todo = `Start its worker again; \`trivium gateway show ${gateway}\` shows the backlog.`
    return [warning(CODE, { gateway, road: ROAD }, { title, text, todo, count, since: last.at })]
  })
}

/** Adds `warning` to gateways whose workers have stopped, from `troubles`. */
export function withStoppedWorkers<T extends { name: string; ok: boolean; warning?: string }>(
  gateways: readonly T[],
  troubles: readonly Trouble[],
): (T & { warning?: string })[] {
  return gateways.map((gateway) => {
    const found = troubles.find(
      ({ code, where }) => code === CODE && where.road === ROAD && where.gateway === gateway.name,
    )
    if (!found || !gateway.ok) return gateway
    const unpulled = `${counted(found.count, 'message')} not pulled`
    return { ...gateway, warning: [gateway.warning, unpulled].filter(Boolean).join('; ') }
  })
}
