import { TriviumError } from '../../core/errors.ts'
import { type Json, objectsIn } from '../../core/json.ts'
import { humanGroup } from '../../engine/print/group.ts'
import { defined } from '../../lib/defined.ts'
import type { AddCommand } from '../command.ts'
import { ask, type Connection } from '../connection.ts'
import { showHelpAlone } from '../default-help.ts'
import { withOldestMessages } from '../message-previews.ts'

/** `trivium group show`; the other verbs of `group` are skills. */
export const addGroup: AddCommand = (program, context) => {
  const command = program
    .command('group')
    .description('consumer groups: how far each is behind, who reads it; move, replay and delete them')
  showHelpAlone(command)
  command
    .command('show')
    .description('one group: backlog, next event, longest wait, readers, rate, filter, retention')
    .argument('<group>', 'the name of the group')
    .argument('[topic]', 'its topic, if groups of several topics have the name')
    .option('--topic <text>', 'the same as [topic]')
    .action((group: string, word: string | undefined, { topic = word }: { topic?: string }) =>
      ask(
        context,
        async (daemon) => {
          const groups = await groupNamed(daemon, group, topic)
          return context.terminal().json ? groups : withOldestMessages(daemon, groups)
        },
        humanGroup,
      ),
    )
}

/** The groups with a name, with the number of their dead letters. */
async function groupNamed(
  daemon: Pick<Connection, 'invoke'>,
  queue: string,
  topic: string | undefined,
): Promise<Json> {
  const groups = objectsIn(
    await daemon.invoke('event-groups', { queue, history: true, ...defined({ topic }) }),
  )
  if (groups.length === 0)
    throw new TriviumError('not_found', {
      path: `consumer group ${queue}${topic === undefined ? '' : ` of the topic ${topic}`}`,
      hint: ' `trivium group list` lists them.',
    })
  const letters = objectsIn(await daemon.invoke('dead-letter-groups', { queue: 'events' }))
  const dead = letters
    .filter(({ group }) => group === queue)
    .reduce((sum, { count }) => sum + Number(count), 0)
  return groups.map((group) => ({ ...group, ...(group.push === undefined && { dead }) }))
}
