import { builtInSkills } from '../../daemon/built-in-skills.ts'
import { type AddCommand, usage } from '../command.ts'
import { ask } from '../connection.ts'
import { listAlone, showDefault } from '../default-help.ts'
import { meaningOf } from '../grammar.ts'
import { findPerson } from '../person/find.ts'
import { readPerson } from '../person/read.ts'
import { humanPerson } from '../person/text.ts'
import { commandOf } from '../skill-flags.ts'

/** Numbers of texts of a person: at first, and at most. */
const SHOWN_TEXTS = 3
const MOST_TEXTS = 1_000

/** `trivium person show WHO`. The other verbs are operations, and the noun alone is `person list`. */
export const addPerson: AddCommand = (program, context) => {
  const person = program.command('person').description(meaningOf('person'))
  person
    .command('show')
    .description('one person: what is open with them, what they wrote, and the answers')
    .argument('<who...>', 'addresses and identities of one person, or the words of a name')
    .option(
      '--limit <number>',
      'maximum number of their texts, and of events (default 3; with --json, 1000)',
      texts,
    )
    .action((words: string[], { limit }: { limit?: number }) => {
      const most = limit ?? (context.terminal().json ? MOST_TEXTS : SHOWN_TEXTS)
      return ask(
        context,
        async (daemon) => readPerson(daemon, await findPerson(words, daemon), most),
        humanPerson,
      )
    })
  const list = builtInSkills.find(({ name }) => name === 'person-list')
  if (list) showDefault(person, commandOf(list).name('list'))
  listAlone(person)
}

function texts(value: string): number {
  const limit = Number(value)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_TEXTS) return limit
  throw usage(`--limit ${value}: expected a number from 1 to ${MOST_TEXTS}`)
}
