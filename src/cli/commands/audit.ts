import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { type AddCommand, wholeNumber } from '../command.ts'
import { ask } from '../connection.ts'
import { paint, shorten, table } from '../terminal.ts'

/** `trivium audit`: the result of `audit-list` as a table. */
export const addAudit: AddCommand = (program, context) => {
  program
    .command('audit')
    .description('decisions and changes with their author, newest first')
    .option('--by <name>', 'only by this person or program (part of the name)')
    .option('--action <name>', 'only this action (or a glob such as dead-letter-*)')
    .option('--outcome <code>', 'only with this outcome: ok, or an error code')
    .option('--since <time>', 'only since a time, or an age such as 2h')
    .option('--until <time>', 'only before a time, or older than an age (2h)')
    .option('--before <number>', 'only older entries: `next` of the previous page', wholeNumber('--before'))
    .option('--limit <n>', 'maximum number, newest first', wholeNumber('--limit'), 50)
    .action((filter: object) =>
      ask(context, (connection) => connection.invoke('audit-list', filter), humanAudit),
    )
}

/** The result of `audit-list` as a table. */
export function humanAudit(answer: Json): string {
  const entries = objectsIn(pathGet(answer, 'entries'))
  const next = pathGet(answer, 'next')
  const rows = entries.map(({ at, by, via, action, target, outcome }) => [
    `${new Date(Number(at)).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    by,
    via,
    action,
    shorten(targetOf(target), 60),
    outcome === 'ok' ? paint('green', 'ok') : paint('red', String(outcome)),
  ])
  const more = next === undefined ? [] : [`There are older entries: --before ${next}`]
  if (rows.length === 0) return ['No entries.', ...more].join('\n')
  return [table(['time', 'who', 'via', 'action', 'what', 'outcome'], rows), ...more].join('\n')
}

function targetOf(target: unknown): string {
  return Object.entries(Object(target))
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
