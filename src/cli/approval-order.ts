import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { amountsIn } from '../lib/amounts.ts'
import { usage } from './command.ts'

/** What `approval list --sort` puts first: the highest amount, the oldest, the nearest deadline. */
const ORDERS: Readonly<Record<string, (request: JsonObject) => number>> = {
  amount: ({ args }) => -Math.max(...[...amountsIn(args).values()].map(({ value }) => value)),
  oldest: ({ requestedAt }) => Number(requestedAt),
  deadline: ({ expiresAt }) => Number(expiresAt ?? Number.POSITIVE_INFINITY),
}

export const APPROVAL_ORDERS = Object.keys(ORDERS)

/** The requests in the order of `--sort`; decided ones follow. Throws `usage` for another order. */
export function sortedApprovals(requests: Json, sort: unknown): Json {
  if (sort === undefined) return requests
  const place = ORDERS[String(sort)]
  if (!place) throw usage(`--sort is one of ${APPROVAL_ORDERS.join(', ')}, not ${JSON.stringify(sort)}`)
  return objectsIn(requests).toSorted((a, b) => rank(a) - rank(b) || place(a) - place(b))
}

function rank({ status }: JsonObject): number {
  return status === 'pending' ? 0 : 1
}
