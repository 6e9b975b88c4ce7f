import { builtInSkills } from '../../daemon/built-in-skills.ts'
import type { AddCommand } from '../command.ts'
import { ask } from '../connection.ts'
import { listAlone, showDefault } from '../default-help.ts'
import { meaningOf } from '../grammar.ts'
import { findPerson } from '../person/find.ts'
import { readPerson } from '../person/read.ts'
import { humanPerson } from '../person/text.ts'
import { commandOf } from '../skill-flags.ts'

/** `trivium person show WHO`. The other verbs are operations, and the noun alone is `person list`. */
export const addPerson: AddCommand = (program, context) => {
  const person = program.command('person').description(meaningOf('person'))
  person
    .command('show')
    .description('one person: their identities, names and messages, and what is open with them')
    .argument('<who...>', 'addresses and identities of one person, or the words of a name')
    .action((words: string[]) =>
      ask(context, async (daemon) => readPerson(daemon, await findPerson(words, daemon)), humanPerson),
    )
  const list = builtInSkills.find(({ name }) => name === 'person-list')
  if (list) showDefault(person, commandOf(list).name('list'))
  listAlone(person)
}
