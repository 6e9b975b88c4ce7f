import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { hasError, humanTroubles } from '../../features/troubles/print.ts'
import { commandText } from '../../lib/command-text.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { wholeText } from '../../lib/printed.ts'
import type { AddCommand, CommandContext } from '../command.ts'
import { ask, type Connection, connect } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { runsOperation } from '../operation-command.ts'
import { causeOf, withProof } from '../proven-cause.ts'
import { fullId } from '../short-ids.ts'
import { commandOfTrouble } from '../top/trouble-command.ts'

/** `trivium trouble list` and `trouble show`; `ack` and `release` are skills. */
export const addTrouble: AddCommand = (program, context) => {
  const trouble = program
    .command('trouble')
    .description('what is wrong now, since when, and what to do; say that you take care of it')
  const list = trouble
    .command('list', { isDefault: true })
    .description('what is wrong now, since when, and what to do; exits with 1 if there is an error')
    .option('--short', 'one line for each, as in a terminal that is too small for the whole list')
    .option('--full', 'the whole list, also in a small terminal')
  runsOperation(list, context, {
    operation: 'troubles',
    args: z.strictObject({}),
    human: (result) => humanTroubles(result, list.opts()),
    open: connect,
    run: (daemon) => listTroubles(daemon, context),
  })
  trouble
    .command('show')
    .description('one of them, with what to do')
    .argument('<id>', 'its id, or the end of it')
    .action((id: string) =>
      ask(
        context,
        (daemon) => troubleWith(daemon, id, context),
        (found) => withCommands(Object(found)),
        connect,
      ),
    )
  showDefault(trouble, list)
}

/** One trouble with what to do, and the commands that show the thing it is about. */
function withCommands(trouble: JsonObject): string {
  const text = wholeText(humanTroubles({ troubles: [trouble] }, { full: true }))
  const [noun, verb, ...others] = commandOfTrouble(trouble).command ?? []
  const words = `${noun} ${verb}`
  const gateway = pathGet(trouble, 'where.gateway')
  const steps = [
    ...(noun === undefined || text.includes(`trivium ${words}`)
      ? []
      : [`${commandText(words, ...others)} shows more.`]),
    ...(trouble.code === 'refusals' && gateway !== undefined
      ? [`${commandText('refusal try', gateway)} checks another secret on a refused delivery.`]
      : []),
  ]
  return [text, ...steps.map((step) => paragraph('  → ', step))].join('\n')
}

async function listTroubles(daemon: Connection, context: CommandContext): Promise<Json> {
  const found = await daemon.invoke('troubles', {})
  if (hasError(found)) context.exit(1)
  if (context.terminal().json) return found
  const troubles = await Promise.all(objectsIn(pathGet(found, 'troubles')).map((one) => proven(daemon, one)))
  return { ...Object(found), troubles }
}

/** A trouble with the proof that its dead letters can succeed now, if there is one. */
async function proven(daemon: Connection, trouble: JsonObject): Promise<JsonObject> {
  const cause = causeOf(trouble)
  if (cause === undefined) return trouble
  const groups = await daemon.invoke('dead-letter-groups', { ...cause, recovery: true }).catch(() => [])
  return withProof(trouble, groups)
}

async function troubleWith(daemon: Connection, given: string, context: CommandContext): Promise<Json> {
  const id = await fullId(daemon, given, 'trouble')
  const found = objectsIn(pathGet(await daemon.invoke('troubles', {}), 'troubles')).find(
    (one) => one.id === id,
  )
  const hint = ' `trivium trouble list` lists them; one that has ended is no longer there.'
  if (found === undefined) throw new TriviumError('not_found', { path: `trouble ${id}`, hint })
  return context.terminal().json ? found : proven(daemon, found)
}
