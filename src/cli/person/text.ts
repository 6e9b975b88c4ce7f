import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { mentionsSearch, mentionsSentence } from '../../lib/mentions.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, shortId } from '../../lib/short-text.ts'
import { asGiven } from './find.ts'
import { openLines } from './open-lines.ts'
import { textLines } from './texts.ts'

/** `person show`: who it is, what is open with them, what they wrote, and the commands that follow. */
export function humanPerson(person: Json): string {
  const shown: JsonObject = Object(person)
  const who = [shown.identities].flat().map((identity) => asGiven(String(identity)))
  return [
    ...factLines(factsOf(shown, who)),
    ...alikeLines(shown, who),
    '',
    ...openLines(shown, who),
    ...mentionLines(shown),
    ...textLines(shown, who),
    '',
    ...factLines([
      ['messages', who.map((one) => commandOf('message list', one)).join(', ')],
      ['all that is stored', commandText('person count', ...who)],
      ['export it', commandText('person export', ...who)],
      ['erase it', `${commandText('person erase', ...who)} (only counts before --confirm)`],
    ]),
  ].join('\n')
}

function factsOf(person: JsonObject, who: readonly string[]): [title: string, text: string][] {
  const { names, messages, gateways, conversations, first, newest, searchedTo } = person
  const onEach = Object.entries(Object(gateways)).map(([gateway, many]) => `${many} on ${gateway}`)
  const count = Number(messages)
  const back = searchedTo === undefined ? '' : `, back to ${timeOf(searchedTo)}; older ones are not counted`
  return [
    [who.length === 1 ? 'identity' : 'identities', who.map(identityText).join(', ')],
    ['name', [names].flat().join(', ')],
    ['messages', count === 0 ? `none is stored${back}` : `${count} (${onEach.join(', ')})${back}`],
    [
      'conversations',
      count === 0
        ? ''
        : `${conversations}: ${who.map((one) => commandOf('conversation list', one, '--all')).join(', ')}`,
    ],
    ['first', first === undefined ? '' : timeOf(pathGet(first, 'at'))],
    ['newest', newest === undefined ? '' : newestText(Object(newest))],
  ]
}

function newestText({ at, gateway, id }: JsonObject): string {
  return `${timeOf(at)}, ${age(at)} ago on ${gateway}: ${commandText('message show', shortId(id))}`
}

function identityText(identity: string): string {
  return identity.includes('@') && !/^[\w.-]+:/.test(identity) ? `${identity} on every gateway` : identity
}

/** Others with the same name, who may be the same person. */
function alikeLines({ alike }: JsonObject, who: readonly string[]): string[] {
  const others = objectsIn(alike)
  if (others.length === 0) return []
  const all = others.map(({ identity }) => asGiven(String(identity)))
  const named = others
    .map(({ name }, at) => (name === undefined ? all[at] : `${all[at]} (${name})`))
    .join(', ')
  return [
    paragraph(
      '',
      paint(
        'yellow',
        `Also with this name: ${named}. If it is the same person: ${commandText('person show', ...who, ...all)}`,
      ),
    ),
  ]
}

/** How many messages of others name them. Those that wait or failed are among what is open. */
function mentionLines({ mentions = null }: JsonObject): string[] {
  const { names, messages, done, searchedTo }: JsonObject = Object(mentions)
  if (!Array.isArray(names) || Number(messages) === 0) return []
  const known = { names: names.map(String), messages: Number(messages), done: done === true }
  const sentence = mentionsSentence({ ...known, searchedTo: Number(searchedTo) }, timeOf)
  const search = mentionsSearch(known.names, String(known.names[0]))
  return [paragraph('', `${sentence} ${commandText('message list', '--search', search)}`)]
}

/** The command for a list of what is from an identity. */
function commandOf(command: string, identity: string, ...flags: string[]): string {
  const [, gateway, name = identity] = /^([\w.-]+):(.+)$/s.exec(identity) ?? []
  const filter = gateway === undefined ? [] : ['--gateway', gateway]
  return commandText(command, ...filter, '--sender', name.replace(/^external:/, ''), ...flags)
}
