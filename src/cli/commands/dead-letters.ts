import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { type AddCommand, usage, wholeNumber } from '../command.ts'
import { ask, type Connection, connect } from '../connection.ts'
import { age, shorten, table } from '../terminal.ts'

/** `trivium dead-letters list|show|retry|drop`. */
export const addDeadLetters: AddCommand = (program, context) => {
  const command = program
    .command('dead-letters')
    .description('what could not be delivered: kept whole, with every error, until someone decides')

  command
    .command('list', { isDefault: true })
    .description('newest first')
    .option('--queue <name>', 'dispatch, outbox, subscriptions or push/NAME')
    .option('--limit <n>', 'how many', wholeNumber('--limit'), 50)
    .action((args: { queue?: string; limit: number }) =>
      ask(context, (daemon) => daemon.invoke('dead-letter-list', args), listed),
    )
  command
    .command('show <id>')
    .description('one, with its message and every error')
    .action((id: string) => ask(context, (daemon) => daemon.invoke('dead-letter-show', { id })))
  const each = (verb: string, description: string, done: string) =>
    command
      .command(`${verb} [id...]`)
      .description(`${description}: those that are named, or with --all those that the filters leave`)
      .option('--all', 'every one that the filters leave')
      .option('--queue <name>', 'only of dispatch, outbox, subscriptions or push/NAME')
      .option('--route <name>', 'only of this route; in the outbox, of this gateway')
      .option('--error <text>', 'only those whose last error has this text')
      .action((ids: string[], { all, ...filter }: Filter & { all?: true }) => {
        if (ids.length > 0 && (all || Object.keys(filter).length > 0))
          throw usage('Name dead letters, or filter them; not both.')
        const work = async (daemon: Connection) => {
          const chosen = ids.length > 0 ? ids : await matching(daemon, filter)
          if (ids.length === 0 && !all)
            throw usage(`${chosen.length} match. Add --all to ${verb} them, or name some.`)
          return Array.fromAsync(chosen, (id) => daemon.invoke(`dead-letter-${verb}`, { id }))
        }
        return ask(context, work, (results) => `${Object.values(Object(results)).length} ${done}.`)
      })
  each('retry', 'put them back at the end of their lanes, with fresh attempts', 'back in their lanes')
  each('drop', 'remove them for good', 'dropped')
}

type Filter = { queue?: string; route?: string; error?: string }

/** The most that one call lists, and so the most that one command takes. */
const MOST = 1_000

async function matching(daemon: Connection, { queue, route, error = '' }: Filter): Promise<string[]> {
  const found = await daemon.invoke('dead-letter-list', { ...defined({ queue, group: route }), limit: MOST })
  return objectsIn(found).flatMap((one) =>
    lastError(one).toLowerCase().includes(error.toLowerCase()) ? [String(one.id)] : [],
  )
}

function lastError({ errors }: JsonObject): string {
  return String(pathGet(objectsIn(errors).at(-1), 'message') ?? '')
}

function listed(result: Json): string {
  const rows = objectsIn(result).map((one) => {
    const { id, at, queue, group, reason } = one
    return [id, age(at), queue, group, shorten(`${reason}: ${lastError(one)}`, 80)]
  })
  if (rows.length === 0) return 'No dead letters.'
  return table(['id', 'age', 'queue', 'route', 'why'], rows)
}

/** `trivium refused`. */
export const addRefused: AddCommand = (program, context) => {
  program
    .command('refused')
    .description('what gateways refused last, newest first, as the running daemon remembers it')
    .option('--gateway <name>', 'only of this gateway')
    .action((only: { gateway?: string }) =>
      ask(context, (daemon) => daemon.invoke('refused', only), refusedTable, connect),
    )
}

function refusedTable(result: Json): string {
  const rows = objectsIn(pathGet(result, 'refusals')).map(({ at, gateway, from, reason, why, body }) => {
    return [age(at), gateway, from, shorten(String(why ?? reason), 100), shorten(String(body ?? ''), 40)]
  })
  const daemon = `as ${pathGet(result, 'daemon')} remembers`
  if (rows.length === 0) return `Nothing was refused, ${daemon}.`
  return `${table(['age', 'gateway', 'from', 'why', 'body'], rows)}\n(${daemon})`
}
