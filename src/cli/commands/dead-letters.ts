import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { deadLetters } from '../../engine/operations/messages.ts'
import { humanLetterGroups, humanLetters, humanRetries } from '../../engine/print/dead-letters.ts'
import { humanLetter } from '../../engine/print/letter.ts'
import { lettersByCause } from '../../engine/print/letter-causes.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import type { AddCommand } from '../command.ts'
import { ask } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { addLetterAction, allLetters } from '../letter-action.ts'
import { withSurroundings } from '../letter-surroundings.ts'
import { runsOperation } from '../operation-command.ts'
import { VIEW_OPTION, withView } from '../saved-view.ts'
import { fullId } from '../short-ids.ts'

/** `trivium dead-letter list|groups|show|retry|drop|retries`. */
export const addDeadLetters: AddCommand = (program, context) => {
  const command = program
    .command('dead-letter')
    .description(
      'messages and sends that failed permanently, kept with every error until you retry or drop them',
    )
  const list = command
    .command('list', { isDefault: true })
    .description('by cause; in a pipe newest first')
    .option('--all', 'all that match, without a limit')
    .option(...VIEW_OPTION)
  const { isTerminal, json } = context.terminal()
  let causes: Json = []
  runsOperation(list, context, {
    operation: 'dead-letter-list',
    args: deadLetters.list,
    human: (letters, args) => withTotal(letters, causes, isTerminal, args),
    async run(daemon, given) {
      const args = await withView(daemon, 'dead-letters', list.opts().view, given)
      const { before: _, limit: __, ...filter } = args
      if (!json) causes = await daemon.invoke('dead-letter-groups', { ...filter, recovery: true })
      const isAll = list.opts().all === true
      const letters = isAll ? await allLetters(daemon, args) : await daemon.invoke('dead-letter-list', args)
      const isFiltered = Object.keys(filter).length > 0
      if (!json && isFiltered && objectsIn(letters).length === 0)
        causes = await daemon.invoke('dead-letter-groups', {})
      return letters
    },
  })
  showDefault(command, list)
  runsOperation(
    command.command('groups').description('counts by queue, route and error, most frequent first'),
    context,
    { operation: 'dead-letter-groups', args: deadLetters.groups, human: humanLetterGroups },
  )
  command
    .command('show')
    .description('a dead letter with its message and every error')
    .argument('<id>', 'its id, or the end of it as in the lists')
    .action((id: string) =>
      ask(
        context,
        async (daemon) => {
          const letter = await daemon.invoke('dead-letter-show', {
            id: await fullId(daemon, id, 'dead-letter'),
          })
          return json ? letter : withSurroundings(daemon, letter)
        },
        humanLetter,
      ),
    )
  addLetterAction(command, context, 'retry')
  addLetterAction(command, context, 'drop')
  runsOperation(
    command.command('retries').description('the jobs that retried many dead letters, and their outcomes'),
    context,
    { operation: 'dead-letter-retries', args: deadLetters.retries, human: humanRetries },
  )
}

/** Of a filtered list without rows. */
function noneOf(total: number): string {
  return total === 1 ? 'The only dead letter does not match.' : `None of the ${total} dead letters matches.`
}

/** The list, at a terminal by cause, and how many it leaves out. `causes`: of all, if none matches. */
function withTotal(letters: Json, causes: Json, isTerminal: boolean, args: JsonObject): Printable {
  const shown = objectsIn(letters).length
  const total = objectsIn(causes).reduce((sum, { count }) => sum + Number(count), 0)
  if (shown === 0 && total > 0)
    return noData(args.before === undefined ? noneOf(total) : 'No older dead letters.')
  const byCause = isTerminal ? lettersByCause(letters, causes, args) : undefined
  const list = byCause ?? humanLetters(letters)
  if (shown < Number(args.limit) || total <= shown) return list
  const { before: _, limit: __, ...filter } = args
  const all = commandAgain('dead-letter list', filter, { all: true })
  const more = `The newest ${shown} of ${total} dead letters: ${all} shows all, `
  return withNotes(list, paragraph('', `${more}\`trivium dead-letter groups\` only their causes.`))
}
