import { type Json, pathGet } from '../../core/json.ts'
import { type AddCommand, wholeNumber } from '../command.ts'
import { ask, type Connection } from '../connection.ts'
import { age, objectsIn, shorten, table } from '../terminal.ts'

/** `trivium dead-letters list|show|retry|drop`. */
export const addDeadLetters: AddCommand = (program, context) => {
  const command = program
    .command('dead-letters')
    .description('what could not be delivered: kept whole, with every error, until someone decides')

  command
    .command('list', { isDefault: true })
    .description('newest first')
    .option('--queue <name>', 'dispatch, outbox or subscriptions')
    .option('--limit <n>', 'how many', '50')
    .action((options: { queue?: string; limit: string }) => {
      const args = { ...options, limit: wholeNumber('--limit', options.limit) }
      return ask(context, (daemon) => daemon.invoke('dead-letter-list', args), listed)
    })
  command
    .command('show')
    .description('one, with its message and every error')
    .argument('<id>')
    .action((id: string) => ask(context, (daemon) => daemon.invoke('dead-letter-show', { id })))
  const each = (verb: string, description: string, done: string) =>
    command
      .command(verb)
      .description(description)
      .argument('<id...>')
      .action((ids: string[]) => {
        const one = (daemon: Connection) => (id: string) => daemon.invoke(`dead-letter-${verb}`, { id })
        const all = async (daemon: Connection) => Array.fromAsync(ids, one(daemon))
        return ask(context, all, () => `${ids.length} ${done}.`)
      })
  each('retry', 'put them back at the end of their lanes, with fresh attempts', 'back in their lanes')
  each('drop', 'remove them for good', 'dropped')
}

function listed(result: Json): string {
  const rows = objectsIn(result).map(({ id, at, queue, group, reason, errors }) => {
    const last = pathGet(objectsIn(errors).at(-1), 'message') ?? ''
    return [id, age(at), queue, group, reason, shorten(String(last), 70)]
  })
  if (rows.length === 0) return 'No dead letters.'
  return table(['id', 'age', 'queue', 'route', 'reason', 'last error'], rows)
}
