import { TriviumError } from '../core/errors.ts'
import { type JsonObject, jsonObjectSchema, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { didYouMean } from '../lib/nearest.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'

/** The option of the lists that the console has saved views of. */
export const VIEW_OPTION = [
  '--view <name>',
  'the filters of a saved view, as `view list` lists them',
] as const

type Listed = 'messages' | 'conversations' | 'dead-letters' | 'audit'

/**
 * The arguments of a list with the filters of a saved view. A filter of the command replaces that
 * of the view; the words of both must match. Throws `not_found`, and `usage` for a view that only the
 * console can show.
 */
export async function withView(
  daemon: Pick<Connection, 'invoke'>,
  list: Listed,
  name: unknown,
  args: JsonObject,
): Promise<JsonObject> {
  if (typeof name !== 'string') return args
  const views = objectsIn(pathGet(await daemon.invoke('view-list', { list }), 'views'))
  const found = views.find((view) => view.name === name)
  if (!found) {
    const names = views.map((view) => String(view.name))
    const hint = didYouMean(name, names) || ' `trivium view list` lists them.'
    throw new TriviumError('not_found', {
      path: `view ${JSON.stringify(name)} of ${list.replace('-', ' ')}`,
      hint,
    })
  }
  const query = argumentsOf(list, jsonObjectSchema.parse(found.query), name)
  const words = [query.search, args.search].filter((each) => each !== undefined)
  const { answerable, ...given } = args
  // Of conversations, the tab says whether those of machines are listed.
  const own = found.list === 'conversations' ? given : { ...given, ...defined({ answerable }) }
  return { ...query, ...own, ...(words.length > 0 && { search: words.join(' ') }) }
}

/** The arguments for the tabs of the conversations; all other arguments have the same names. */
const TABS: Readonly<Record<string, JsonObject>> = {
  '': { answerable: true },
  person: { answerable: true, forPerson: true },
  unanswered: { answerable: true, unanswered: true },
  undelivered: { answerable: true, undelivered: true },
  all: {},
}

function argumentsOf(list: Listed, { show, sort: _, ...query }: JsonObject, name: string): JsonObject {
  if (show === undefined) return list === 'conversations' ? { ...query, ...TABS[''] } : query
  const tab = TABS[String(show)]
  if (!tab)
    throw usage(`Only the console can show the view ${JSON.stringify(name)}: it is of the tab ${show}.`)
  return { ...query, ...tab }
}
