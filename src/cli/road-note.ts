import type { JsonObject } from '../core/json.ts'
import { age } from '../lib/short-text.ts'

/** Of a road in `status` and `top`. */
export const NOT_PULLED = 'not pulled (normal without workers)'

/**
 * `1 leased, 2 not pulled`, of gateways that workers use; without a lease, when they last pulled.
 * Empty if no worker has pulled within the retention.
 */
export function workersNote({ leased = 0, pulled, waiting }: JsonObject): string {
  const { waiting: count = waiting, more, lastAt } = Object(pulled)
  const left = `${count}${more === true ? '+' : ''} not pulled`
  if (Number(leased) > 0) return `${leased} leased, ${left}`
  return pulled === undefined ? '' : `${left} (last pull ${age(lastAt)} ago)`
}
