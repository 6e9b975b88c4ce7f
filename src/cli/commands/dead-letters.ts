import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { type AddCommand, usage, wholeNumber } from '../command.ts'
import { ask, type Connection } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { humanLetterCount } from '../printers/actions.ts'
import { humanLetter, humanLetterGroups, humanLetters } from '../printers/dead-letters.ts'
import { fullId } from '../short-ids.ts'

/** `trivium dead-letter list|groups|show|retry|drop`. */
export const addDeadLetters: AddCommand = (program, context) => {
  const command = program
    .command('dead-letter')
    .description(
      'messages and sends that failed permanently, kept with every error until you retry or drop them',
    )
  const filtered = (name: string, isDefault = false) =>
    command
      .command(name, { isDefault })
      .option(
        '--queue <name>',
        'only from this queue: dispatch, receive, events, outbox, subscriptions, schedules or push/NAME',
      )
      .option('--route <name>', 'only from this route (in the outbox: gateway)')
      .option('--error <text>', 'only if the last error contains this text')
      .option('--code <code>', 'only if the last error has this code')
      .option('--since <time>', 'dead since a time (2026-11-21T10:00:00Z), or an age (2h)')
      .option('--until <time>', 'dead before a time, or for longer than an age (2h)')

  const list = filtered('list', true)
    .description('newest first')
    .option('--limit <n>', 'how many', wholeNumber('--limit'), 50)
    .action(({ limit, ...filter }: Filter & { limit: number }) =>
      ask(context, (daemon) => daemon.invoke('dead-letter-list', { ...argsOf(filter), limit }), humanLetters),
    )
  showDefault(command, list)
  filtered('groups')
    .description('counts by queue, route and error, most frequent first')
    .action((filter: Filter) =>
      ask(context, (daemon) => daemon.invoke('dead-letter-groups', argsOf(filter)), humanLetterGroups),
    )
  command
    .command('show <id>')
    .description('a dead letter with its message and every error')
    .action((id: string) =>
      ask(
        context,
        async (daemon) => daemon.invoke('dead-letter-show', { id: await fullId(daemon, id) }),
        humanLetter,
      ),
    )
  const addAction = (verb: string, description: string, participle: 'retried' | 'dropped') =>
    filtered(`${verb} [id...]`)
      .description(`${description}: the named ones, or with --all those that match the filters`)
      .option('--all', 'all that match the filters')
      .action((ids: string[], { all, ...filter }: Filter & { all?: true }) => {
        if (ids.length > 0 && (all || Object.keys(filter).length > 0))
          throw usage('Give ids or filters, not both.')
        const work = async (daemon: Connection) => {
          for (const id of ids) await daemon.invoke(`dead-letter-${verb}`, { id: await fullId(daemon, id) })
          if (ids.length > 0) return { count: ids.length }
          const args = { ...argsOf(filter), until: filter.until ?? new Date().toISOString() }
          if (!all) {
            const groups = objectsIn(await daemon.invoke('dead-letter-groups', args))
            const count = groups.reduce((sum, group) => sum + Number(group.count), 0)
            const matches = counted(count, 'dead letter matches', 'dead letters match')
            throw usage(`${matches}. Add --all to ${verb} ${count === 1 ? 'it' : 'them'}, or name some.`)
          }
          const onProgress = (count: number) => context.terminal().progress(`${count} ${participle} …`)
          return actOnAll(daemon, verb, args, onProgress)
        }
        return ask(context, work, (result) => humanLetterCount(participle, Number(pathGet(result, 'count'))))
      })
  addAction('retry', 'retry them at the end of their lanes, with all attempts', 'retried')
  addAction('drop', 'remove them permanently', 'dropped')
}

type Filter = Partial<Record<'queue' | 'route' | 'error' | 'code' | 'since' | 'until', string>>

function argsOf({ route, ...filter }: Filter): JsonObject {
  return { ...filter, ...defined({ group: route }) }
}

/** Works in batches. Letters that die again meanwhile are newer than `until`, and are not processed again. */
async function actOnAll(
  daemon: Connection,
  verb: string,
  args: JsonObject,
  onProgress: (count: number) => void,
): Promise<Json> {
  let count = 0
  for (;;) {
    const batch = await daemon.invoke(`dead-letter-${verb}`, { ...args, all: true })
    count += Number(pathGet(batch, 'count'))
    if (pathGet(batch, 'more') !== true) return { count }
    onProgress(count)
  }
}
