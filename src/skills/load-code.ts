import { dirname, relative } from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { type Middleware, type Skill, skillJsonSchema } from '../core/skill.ts'
import type { FoundSkill } from './discover.ts'
import { type FreshImporter, realPathOf } from './import-fresh.ts'
import { parseSettings } from './onion.ts'

/** Names of skills, in front matter and in code. */
export const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

const isSchema = (value: unknown): value is z.ZodType =>
  typeof value === 'object' && value !== null && 'safeParse' in value && '_zod' in value

const skillShape = z.object({
  name: z.string().regex(SKILL_NAME, 'use lower-case letters, digits and dashes').optional(),
  description: z.string().min(1),
  args: z.custom<z.ZodType>(isSchema, 'must be a zod (4) schema').default(() => z.looseObject({})),
  metadata: z.custom<JsonObject>(isJsonObject, 'must be an object').optional(),
  run: z.custom<Skill['run']>((value) => typeof value === 'function', 'must be a function'),
})

/** Imports a code skill: the default export of its module. Throws where it is not one. */
export async function loadCodeSkill(found: FoundSkill, importer: FreshImporter): Promise<Skill> {
  const exported = await importDefault(found.path, importer)
  if (exported === undefined) throw new Error('it has no default export; export default defineSkill({ … })')
  const { name = found.name, metadata, ...rest } = parseSettings(skillShape, exported)
  if (name !== found.name) throw new Error(`its name is ${name}, but its folder is ${found.name}`)
  try {
    // Whoever lists the skills needs it, and one that has none must not break the list.
    skillJsonSchema(rest)
  } catch (error) {
    throw new Error(`args cannot be told as JSON Schema: ${reasonOf(error)}`, { cause: error })
  }
  return { name, ...rest, ...(metadata ? { metadata } : {}) }
}

const middlewareShape = z.object({
  name: z.string().min(1).exactOptional(),
  order: z.number(),
  description: z.string(),
  always: z.boolean().default(false),
  setup: z.custom<Middleware['setup']>((value) => typeof value === 'function', 'must be a function'),
})

/** Imports a middleware: the default export of `middleware/<name>.ts`. Throws where it is not one. */
export async function loadMiddleware(
  found: { name: string; path: string },
  importer: FreshImporter,
): Promise<Middleware> {
  return { name: found.name, ...parseSettings(middlewareShape, await importDefault(found.path, importer)) }
}

async function importDefault(path: string, importer: FreshImporter): Promise<unknown> {
  return (await importer.load(path).catch((error) => throwWithPlace(error, path))).default
}

/** Node tells only in the stack where code went wrong. Its own frames have no `/` at the beginning. */
const PLACE = /(?:^|\(|at (?:async )?)(?:file:\/\/)?(\/[^\s()?:]+)(?:\?v=\d+)?:(\d+)(?::\d+)?\)?$/gm

/** Throws the error with the file (where it is not `path`) and the line before its message. */
function throwWithPlace(error: unknown, path: string): never {
  if (!(error instanceof Error)) throw error
  const own = realPathOf(path)
  const folder = dirname(dirname(own))
  for (const [, at = '', line] of (error.stack ?? '').matchAll(PLACE)) {
    const file = realPathOf(decodeURI(at))
    if (!file.startsWith(folder)) continue
    const where = file === own ? '' : `${relative(folder, file)} `
    throw new Error(`${where}line ${line}: ${error.message}`, { cause: error })
  }
  throw error
}
