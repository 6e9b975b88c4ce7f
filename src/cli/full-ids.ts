import { type Json, type JsonObject, pathGet } from '../core/json.ts'
import { spokenArguments } from '../core/spoken.ts'
import { builtInSkills } from '../daemon/built-in-skills.ts'
import type { Connection } from './connection.ts'
import { fullId } from './short-ids.ts'

/**
 * Replaces parts of ids by whole ids in the arguments whose schema declares the kind of id. Skills
 * that are not read-only need more of an id.
 */
export async function withFullIds(
  name: string,
  args: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
): Promise<JsonObject> {
  const skill = builtInSkills.find((one) => one.name === name)
  const schema = skill?.args
  const isChange = pathGet(skill?.metadata, 'annotations.readOnlyHint') !== true
  const whole = { ...args }
  for (const [argument, { id: kind }] of Object.entries(schema ? spokenArguments(schema) : {})) {
    if (!kind) continue
    const complete = async (given: Json) =>
      typeof given === 'string' ? fullId(daemon, given, kind, { args, isChange }) : given
    const given = args[argument]
    if (given === undefined) continue
    whole[argument] = Array.isArray(given) ? await Promise.all(given.map(complete)) : await complete(given)
  }
  return whole
}
