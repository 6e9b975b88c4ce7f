import { TriviumError } from '../core/errors.ts'
import { type JsonObject, jsonObjectSchema, objectsIn, pathGet } from '../core/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { Connection } from './connection.ts'

/**
 * The arguments of a search with the filters of a saved view. A filter of the command replaces that
 * of the view; the words of both must match. Throws `not_found`.
 */
export async function withView(
  daemon: Pick<Connection, 'invoke'>,
  name: string,
  args: JsonObject,
): Promise<JsonObject> {
  const views = objectsIn(pathGet(await daemon.invoke('view-list', { list: 'messages' }), 'views'))
  const found = views.find((view) => view.name === name)
  if (!found) {
    const names = views.map((view) => String(view.name))
    const hint = didYouMean(name, names) || ' `trivium view list` lists them.'
    throw new TriviumError('not_found', { path: `view ${JSON.stringify(name)} of messages`, hint })
  }
  const query = jsonObjectSchema.parse(found.query)
  const words = [query.search, args.search].filter((each) => each !== undefined)
  return { ...query, ...args, ...(words.length > 0 && { search: words.join(' ') }) }
}
