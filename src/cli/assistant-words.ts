import { readFileSync } from 'node:fs'
import { type JsonObject, objectsIn, parseJson } from '../core/json.ts'
import { ownFile } from './command.ts'

let words: ReadonlySet<string> | undefined

/** Whether a route belongs to a word of the assistant, such as `help-words@slack`. */
export function isOfAssistant({ name, target, to }: JsonObject): boolean {
  words ??= new Set(
    objectsIn(parseJson(readFileSync(ownFile('skills/skills.json'), 'utf8'))).map((word) =>
      String(word.name),
    ),
  )
  return target === 'skill' && words.has(String(to)) && String(name).startsWith(`${to}@`)
}
