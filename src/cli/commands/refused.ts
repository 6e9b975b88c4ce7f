import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { ask, connect } from '../connection.ts'
import { age, paragraph, shorten, table } from '../terminal.ts'

/** Number of refusals that fit on a screen below their causes. */
const MAX_SHOWN = 10

/** `trivium refused`: the refusals that the running daemon remembers. */
export const addRefused: AddCommand = (program, context) => {
  program
    .command('refused')
    .description(
      'recent refusals of gateways, by cause and newest first, from the memory of the running daemon',
    )
    .option('--gateway <name>', 'only from this gateway')
    .action((only: { gateway?: string }) => {
      const maxRows = context.terminal().isTerminal ? MAX_SHOWN : Number.POSITIVE_INFINITY
      return ask(
        context,
        (daemon) => daemon.invoke('refused', only),
        (result) => humanRefused(result, maxRows),
        connect,
      )
    })
}

function humanRefused(result: Json, maxRows: number): string {
  const daemon = `in the memory of ${pathGet(result, 'daemon')}`
  const all = objectsIn(pathGet(result, 'refusals'))
  if (all.length === 0) return `Nothing was refused, ${daemon}.`
  const rows = all.slice(0, maxRows).map(({ at, gateway, from, reason, why, body }) => {
    return [age(at), gateway, from, shorten(String(why ?? reason), 100), shorten(String(body ?? ''), 40)]
  })
  const causes = objectsIn(pathGet(result, 'groups')).map(causeText)
  const more =
    all.length > rows.length ? `… and ${all.length - rows.length} more: trivium refused --json\n` : ''
  return [...causes, `${table(['age', 'gateway', 'from', 'why', 'body'], rows)}\n${more}(${daemon})`].join(
    '\n\n',
  )
}

/** The refusals of one gateway for one reason in the last hour, with the likely cause and what to do. */
function causeText({ gateway, reason, count, accepted, since, likely, todo }: JsonObject): string {
  const head = `${gateway}: ${count} of ${Number(count) + Number(accepted)} refused in ${age(since)} (${reason})`
  return [paragraph('', head), paragraph('  ', String(likely)), paragraph('  → ', String(todo))].join('\n')
}
