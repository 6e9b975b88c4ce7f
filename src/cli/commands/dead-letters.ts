import { isJsonObject, type Json, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { type Connection, connectOrOpen } from '../connection.ts'
import { wholeNumber } from '../flag-values.ts'
import { age, pretty, shorten, show, table } from '../terminal.ts'

/** `trivium dead-letters list|show|retry|drop`. */
export const addDeadLetters: AddCommand = (program, context) => {
  const command = program
    .command('dead-letters')
    .description('what could not be delivered: kept whole, with every error, until someone decides')

  const run = async (use: (connection: Connection) => Promise<Json>, human: (result: Json) => string) => {
    const connection = await connectOrOpen(context.environs())
    try {
      const result = await use(connection)
      show(context.terminal(), result, () => human(result))
    } finally {
      await connection.close()
    }
  }

  command
    .command('list', { isDefault: true })
    .description('newest first')
    .option('--queue <name>', 'dispatch, outbox or subscriptions')
    .option('--limit <n>', 'how many', '50')
    .action((options: { queue?: string; limit: string }) =>
      run(
        (c) => c.invoke('dead-letter-list', { ...options, limit: wholeNumber('--limit', options.limit) }),
        listed,
      ),
    )
  command
    .command('show')
    .description('one, with its message and every error')
    .argument('<id>')
    .action((id: string) => run((c) => c.invoke('dead-letter-show', { id }), pretty))
  command
    .command('retry')
    .description('put them back at the end of their lanes, with fresh attempts')
    .argument('<id...>')
    .action((ids: string[]) =>
      run(each('dead-letter-retry', ids), () => `${ids.length} back in their lanes.`),
    )
  command
    .command('drop')
    .description('remove them for good')
    .argument('<id...>')
    .action((ids: string[]) => run(each('dead-letter-drop', ids), () => `${ids.length} dropped.`))
}

function each(skill: string, ids: readonly string[]) {
  return async (connection: Connection): Promise<Json> => {
    const results: Json[] = []
    for (const id of ids) results.push(await connection.invoke(skill, { id }))
    return results
  }
}

function listed(result: Json): string {
  const letters = Array.isArray(result) ? result.filter(isJsonObject) : []
  if (letters.length === 0) return 'No dead letters.'
  const now = Date.now()
  const rows = letters.map((letter) => {
    const errors = Array.isArray(letter.errors) ? letter.errors : []
    const last = String(pathGet(errors.at(-1), 'message') ?? '')
    return [
      letter.id,
      age(Number(letter.at), now),
      letter.queue,
      letter.group,
      letter.reason,
      shorten(last, 70),
    ]
  })
  return table(['id', 'age', 'queue', 'route', 'reason', 'last error'], rows)
}
