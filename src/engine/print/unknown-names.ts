import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { unknownSentence } from '../../lib/unknown-names.ts'

/** Lists unknown names in a search without results, with similar names. */
export function unknownNames(found: Json): string {
  const sentences = objectsIn(pathGet(found, 'unknown')).map(({ key, name, near }) => {
    const names = Array.isArray(near) ? near.map(String) : []
    return unknownSentence({ key: String(key), name: String(name), near: names })
  })
  return sentences.map((sentence) => ` ${sentence}`).join('')
}
