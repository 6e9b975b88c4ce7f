import type { Command } from 'commander'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { deadLetters } from '../../engine/operations/messages.ts'
import {
  humanLetter,
  humanLetterCount,
  humanLetterGroups,
  humanLetters,
  humanRetries,
} from '../../engine/print/dead-letters.ts'
import { lettersByCause } from '../../engine/print/letter-causes.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { agrees } from '../agrees.ts'
import { type AddCommand, type CommandContext, usage } from '../command.ts'
import { ask, type Connection } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { operationFlags, runsOperation } from '../operation-command.ts'
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
  const { isTerminal, json } = context.terminal()
  let causes: Json = []
  runsOperation(list, context, {
    operation: 'dead-letter-list',
    args: deadLetters.list,
    human: (letters, args) => withTotal(letters, causes, isTerminal, args),
    async run(daemon, args) {
      const { before: _, limit: __, ...filter } = args
      if (!json) causes = await daemon.invoke('dead-letter-groups', filter)
      const isAll = list.opts().all === true
      return isAll ? allLetters(daemon, args) : daemon.invoke('dead-letter-list', args)
    },
  })
  showDefault(command, list)
  runsOperation(
    command.command('groups').description('counts by queue, route and error, most frequent first'),
    context,
    { operation: 'dead-letter-groups', args: deadLetters.groups, human: humanLetterGroups },
  )
  command
    .command('show <id>')
    .description('a dead letter with its message and every error')
    .action((id: string) =>
      ask(
        context,
        async (daemon) => daemon.invoke('dead-letter-show', { id: await fullId(daemon, id, 'dead-letter') }),
        humanLetter,
      ),
    )
  addAction(command, context, 'retry', 'retry them at the end of their lanes, with all attempts', 'retried')
  addAction(command, context, 'drop', 'remove them permanently', 'dropped')
  runsOperation(
    command.command('retries').description('the jobs that retried many, and what became of the messages'),
    context,
    { operation: 'dead-letter-retries', args: deadLetters.retries, human: humanRetries },
  )
}

/** Adds `retry` or `drop`. At a terminal, many are shown before a question. */
function addAction(
  command: Command,
  context: CommandContext,
  verb: 'retry' | 'drop',
  description: string,
  participle: 'retried' | 'dropped',
) {
  const { isTerminal, json } = context.terminal()
  const isPerson = isTerminal && process.stdin.isTTY === true
  const action = command
    .command(`${verb} [id...]`)
    .description(`${description}: the named ones, or with --all those that match the filters`)
  const { read } = operationFlags(action, deadLetters[verb], ['id', 'limit'])
  action.option('--dry-run', 'with --all: only show which would be meant')
  action.option('--yes', 'with --all: do not ask at a terminal')
  action.action((ids: string[], options: { dryRun?: true; yes?: true }) => {
    const { all, ...filter } = read(options)
    if (ids.length > 0 && (all || Object.keys(filter).length > 0))
      throw usage('Give ids or filters, not both.')
    if (options.dryRun && !all)
      throw usage('--dry-run shows what --all would touch. `trivium dead-letter show ID` shows a single one.')
    const work = async (daemon: Connection) => {
      for (const id of ids)
        await daemon.invoke(`dead-letter-${verb}`, { id: await fullId(daemon, id, 'dead-letter') })
      if (ids.length > 0) return { count: ids.length }
      const args = { ...filter, until: filter.until ?? new Date().toISOString() }
      if (!all) {
        const groups = objectsIn(await daemon.invoke('dead-letter-groups', args))
        const count = groups.reduce((sum, group) => sum + Number(group.count), 0)
        const matches = counted(count, 'dead letter matches', 'dead letters match')
        throw usage(`${matches}. Add --all to ${verb} ${count === 1 ? 'it' : 'them'}, or name some.`)
      }
      const { dryRun = false, yes = false } = options
      if (dryRun || (isPerson && !json && !yes)) {
        const groups = await daemon.invoke('dead-letter-groups', args)
        if (dryRun) return groups
        if (objectsIn(groups).length === 0) return { count: 0 }
        context.terminal().err(`${humanLetterGroups(groups)}\n`)
        if (!(await agrees(`${verb === 'retry' ? 'Retry' : 'Drop'} all of these? (y/N) `)))
          return { count: 0 }
      }
      return actOnAll(daemon, verb, args, (text) =>
        context.terminal().progress(text && `${text} ${participle} …`),
      )
    }
    return ask(context, work, (result) => {
      if (Array.isArray(result)) return humanLetterGroups(result)
      const count = Number(pathGet(result, 'count'))
      const watch = isPerson && verb === 'retry' && ids.length === 0 && count > 0
      return `${humanLetterCount(participle, count)}${watch ? WATCH : ''}`
    })
  })
}

/** Where to see what becomes of many. */
const WATCH =
  '\n`trivium message list --outcome retrying` and `trivium dead-letter list` show what becomes of them,\n`trivium pause list` what is paused.'

/** Dead letters per page. */
const PAGE_SIZE = 500

/** All dead letters that match, newest first. */
async function allLetters(daemon: Connection, args: JsonObject): Promise<Json> {
  const found: JsonObject[] = []
  for (;;) {
    const last = found.at(-1)
    const before = last ? `${last.at}/${last.id}` : args.before
    const query = { ...args, ...defined({ before }), limit: PAGE_SIZE }
    const page = objectsIn(await daemon.invoke('dead-letter-list', query))
    if (page.length === 0) return found
    found.push(...page)
  }
}

/** Works in batches. Letters that die again meanwhile are newer than `until`, and left alone. */
async function actOnAll(
  daemon: Connection,
  verb: string,
  args: JsonObject,
  progress: (text: string) => void,
): Promise<Json> {
  let count = 0
  using _erased = { [Symbol.dispose]: () => progress('') }
  for (;;) {
    const batch = await daemon.invoke(`dead-letter-${verb}`, { ...args, all: true })
    count += Number(pathGet(batch, 'count'))
    if (pathGet(batch, 'more') !== true) return { count }
    progress(String(count))
  }
}

/** The list, at a terminal by cause, and how many it leaves out. */
function withTotal(letters: Json, causes: Json, isTerminal: boolean, args: JsonObject): string {
  const shown = objectsIn(letters).length
  const total = objectsIn(causes).reduce((sum, { count }) => sum + Number(count), 0)
  const byCause = isTerminal ? lettersByCause(letters, causes) : ''
  const list = byCause === '' ? humanLetters(letters) : byCause
  if (shown < Number(args.limit) || total <= shown) return list
  const more = `The newest ${shown} of ${total} dead letters: \`trivium dead-letter list --all\` shows all, `
  return `${list}\n\n${paragraph('', `${more}\`trivium dead-letter groups\` only their causes.`)}`
}
