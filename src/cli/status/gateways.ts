import type { JsonObject } from '../../core/json.ts'
import { table } from '../../lib/text-table.ts'
import { gatewayRows, isQuiet } from '../gateway-rows.ts'

/** The gateways: failing ones first, then those with another problem, then paused ones. */
export function gatewayTable(
  running: readonly JsonObject[],
  disabled: readonly JsonObject[] = [],
  { maxRows = Number.POSITIVE_INFINITY }: { maxRows?: number } = {},
): string {
  const rows = [
    ...gatewayRows(running),
    ...disabled.map(({ name, transport, why }) => [name, transport, `off (${why})`]),
  ]
  const head = ['Gateways', 'transport', '']
  if (rows.length <= maxRows) return table(head, rows)
  const more = `… and ${rows.length - maxRows + 1} more: \`trivium status | cat\``
  return `${table(head, rows.slice(0, maxRows - 1))}\n${more}`
}

/** `Gateways  10; wholesale FAILING, returns paused`: the details are those of a trouble. */
export function gatewayLine(running: readonly JsonObject[], disabled: readonly JsonObject[]): string {
  const noted = gatewayRows(running.filter((one) => !isQuiet(one)))
  const notes = [
    ...noted.map(([name, , state = '']) => `${name} ${state.split(/: | until /, 1)[0]}`),
    ...(disabled.length > 0 ? [`${disabled.length} off`] : []),
  ]
  return `Gateways  ${running.length + disabled.length}; ${notes.join(', ') || 'all work'}`
}
