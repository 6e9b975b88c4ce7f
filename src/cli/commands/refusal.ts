import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { refusals } from '../../engine/operations/gateways.ts'
import type { AddCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { runsOperation } from '../operation-command.ts'
import { age, listTable, paragraph, shorten } from '../terminal.ts'

/** Number of refusals that fit on a screen below their causes. */
const MAX_SHOWN = 10

/** `trivium refusal list`: the refusals that the running daemon remembers. */
export const addRefusal: AddCommand = (program, context) => {
  const refusal = program
    .command('refusal')
    .description('deliveries that gateways refused: list them, and try another secret on them')
  const command = refusal
    .command('list', { isDefault: true })
    .description(
      'recent refusals of gateways, by cause and newest first, from the memory of the running daemon',
    )
  runsOperation(command, context, {
    operation: 'refused',
    args: refusals.refused,
    human: (result) =>
      humanRefused(result, context.terminal().isTerminal ? MAX_SHOWN : Number.POSITIVE_INFINITY),
    open: connect,
  })
  showDefault(refusal, command)
}

function humanRefused(result: Json, maxRows: number): string {
  const daemon = `in the memory of ${pathGet(result, 'daemon')}`
  const all = objectsIn(pathGet(result, 'refusals'))
  if (all.length === 0) return `Nothing was refused, ${daemon}.`
  const shown: JsonObject[] = Number.isFinite(maxRows)
    ? alikeIn(all)
    : all.map((one) => ({ ...one, count: 1 }))
  const rows = shown.slice(0, maxRows).map(({ count, at, gateway, from, reason, why, body }) => {
    return [
      count,
      age(at),
      gateway,
      from,
      shorten(String(body ?? ''), 40),
      shorten(String(why ?? reason), 100),
    ]
  })
  const causes = objectsIn(pathGet(result, 'groups')).map(causeText)
  const more =
    shown.length > rows.length
      ? `… and ${shown.length - rows.length} more: trivium refusal list --json\n`
      : ''
  const list = listTable(['count', 'newest', 'gateway', 'from', 'body', 'why'], rows)
  return [...causes, `${list}\n${more}(${daemon})`].join('\n\n')
}

/** Refusals of the same gateway, sender and reason as one, which has the newest body. */
function alikeIn(refusals: readonly JsonObject[]): JsonObject[] {
  const groups = Map.groupBy(refusals, ({ gateway, from, why, reason }) =>
    JSON.stringify([gateway, from, why ?? reason]),
  )
  return [...groups.values()].map((group) => ({ ...group[0], count: group.length }))
}

/** The refusals of one gateway for one reason in the last hour, with the likely cause and what to do. */
function causeText({ gateway, reason, count, accepted, since, likely, todo }: JsonObject): string {
  const head = `${gateway}: ${count} of ${Number(count) + Number(accepted)} refused in ${age(since)} (${reason})`
  const isSigned = String(reason) === 'signature_invalid'
  const other = `Has the sender another secret? \`trivium refusal try --gateway ${gateway}\` asks for one, and tries it on the refused deliveries.`
  return [
    paragraph('', head),
    paragraph('  ', String(likely)),
    paragraph('  → ', String(todo)),
    ...(isSigned ? [paragraph('  → ', other)] : []),
  ].join('\n')
}
