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
  command
    .command('retry')
    .description('put them back at the end of their lanes, with fresh attempts')
    .argument('<id...>')
    .action((ids: string[]) =>
      ask(context, each('dead-letter-retry', ids), () => `${ids.length} back in their lanes.`),
    )
  command
    .command('drop')
    .description('remove them for good')
    .argument('<id...>')
    .action((ids: string[]) => ask(context, each('dead-letter-drop', ids), () => `${ids.length} dropped.`))
}

function each(skill: string, ids: readonly string[]) {
  return async (daemon: Connection): Promise<Json> => {
    const results: Json[] = []
    for (const id of ids) results.push(await daemon.invoke(skill, { id }))
    return results
  }
}

function listed(result: Json): string {
  const rows = objectsIn(result).map(({ id, at, queue, group, reason, errors }) => {
    const last = pathGet(objectsIn(errors).at(-1), 'message') ?? ''
    return [id, age(at), queue, group, reason, shorten(String(last), 70)]
  })
  if (rows.length === 0) return 'No dead letters.'
  return table(['id', 'age', 'queue', 'route', 'reason', 'last error'], rows)
}
