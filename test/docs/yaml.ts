import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseDocument, stringify } from 'yaml'
import { readCases } from '../../src/cli/evaluation/cases.ts'
import { readConfig } from '../../src/config/load-config.ts'
import { sections } from '../../src/config/sections.ts'
import { formatProblems } from '../../src/config/yaml-file.ts'
import { isJsonObject, type JsonObject, toJson } from '../../src/core/json.ts'
import { transports } from '../../transports/registry.ts'

/** The part of routes.yaml, or of another file, that a block shows. */
export type Part =
  | { kind: 'configuration'; value: JsonObject }
  | { kind: 'front-matter'; value: JsonObject }
  | { kind: 'cases' }

const FRONT_MATTER = ['metadata', 'allowed-tools']
/** Keys that `model` has in a skill, and not in routes.yaml. */
const OF_SKILL_MODELS = ['id', 'max-tokens', 'attachments']
const SECTIONS = ['gateways', ...Object.keys(sections)]

/**
 * Which file a YAML block is part of; throws if unknown. Keys of a gateway or rule, and lists of
 * routes, are completed.
 */
export function partOf(code: string): Part {
  const value = toJson(parse(code, { merge: true }))
  if (Array.isArray(value)) return { kind: 'configuration', value: { routes: value } }
  if (!isJsonObject(value)) throw new Error('the block is neither a mapping nor a list')
  const keys = Object.keys(value)
  const { model } = value
  const isSkillModel = isJsonObject(model) && OF_SKILL_MODELS.some((key) => key in model)
  if (isSkillModel || keys.every((key) => FRONT_MATTER.includes(key))) return { kind: 'front-matter', value }
  if (keys.every((key) => SECTIONS.includes(key))) return { kind: 'configuration', value }
  if (keys.includes('cases')) return { kind: 'cases' }
  if (keys.includes('imap')) {
    const mailbox = { transport: 'email', address: 'me@example.com', ...value }
    return {
      kind: 'configuration',
      value: { gateways: { mailbox: { smtp: { host: 'localhost' }, ...mailbox } } },
    }
  }
  if (keys.includes('match')) {
    const rule = { on: 'dead-letter', to: { url: 'https://example.com', secret: SECRET }, ...value }
    return { kind: 'configuration', value: { gateways: { shop: { transport: 'cli' } }, notify: [rule] } }
  }
  throw new Error(`it is not known what ${keys.join(', ')} belong to`)
}

/** The problems of a block, as the daemon or the command prints them; undefined without any. */
export async function yamlProblem(
  code: string,
  dir: string,
  { routes: around = '', env: own = {} }: { routes?: string; env?: Record<string, string> } = {},
): Promise<string | undefined> {
  const [error] = parseDocument(code).errors
  if (error) return error.message
  const part = partOf(code)
  const folder = mkdtempSync(join(dir, 'yaml-'))
  if (part.kind === 'cases') {
    writeFileSync(join(folder, 'cases.yaml'), code)
    return readCases(join(folder, 'SKILL.md'), folder).then(() => undefined, String)
  }
  if (part.kind === 'front-matter') return undefined
  // The Bolt apps that examples name.
  for (const app of [folder, join(dir, 'my-app')]) {
    mkdirSync(app, { recursive: true })
    writeFileSync(join(app, 'app.js'), '')
  }
  writeFileSync(join(folder, 'routes.yaml'), stringify(merged(withoutRoutes(around), part.value)))
  const env = { ...valuesForVariables(code + around), ...own }
  const { problems } = await readConfig({ env, cwd: folder, transports })
  const found = problems.filter(
    ({ message }) => !/^(no gateway is started|there are no routes)|enabled: false$/.test(message),
  )
  return found.length === 0 ? undefined : formatProblems(found)
}

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

/** A value for each variable (`${NAME}`) in a text. */
export function valuesForVariables(code: string): Record<string, string> {
  const names = [...code.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name)
  return Object.fromEntries(
    names.map((name) => {
      if (name.includes('SECRET')) return [name, SECRET]
      const hex = '0123456789abcdef0123456789abcdef'
      return [name, name.endsWith('HMAC_KEY') ? hex : `${name}-${hex}`]
    }),
  )
}

/** The mapping in a YAML text; empty if it is not a mapping. */
export function mappingOf(text: string): JsonObject {
  const value = toJson(parse(text))
  return isJsonObject(value) ? value : {}
}

/**
 * Puts a part of routes.yaml into another: sections and gateways are added, and new routes come
 * first.
 */
export function merged(base: JsonObject, more: JsonObject): JsonObject {
  const result = { ...base }
  for (const [name, section] of Object.entries(more)) {
    const old = result[name]
    if (Array.isArray(section) && Array.isArray(old)) result[name] = [...section, ...old]
    else if (isJsonObject(section) && isJsonObject(old)) result[name] = { ...old, ...section }
    else result[name] = section
  }
  return result
}

function withoutRoutes(text: string): JsonObject {
  const { routes: _, ...rest } = mappingOf(text)
  return rest
}
