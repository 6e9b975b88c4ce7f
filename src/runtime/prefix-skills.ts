import { readFile } from 'node:fs/promises'
import { isNode, isSeq, parseDocument } from 'yaml'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { detailsOf, problemText } from '../core/invalid-args.ts'
import { type JsonObject, pathGet } from '../core/json.ts'
import { compilePrefix } from '../core/pattern.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import { orNothing } from '../lib/disk.ts'
import { nearest } from '../lib/nearest.ts'
import { SKILL_NAME } from './load-code.ts'
import { parseSettings } from './parse-settings.ts'

/** The file in a skills folder that declares skills by their first words. */
export const PREFIX_FILE = 'skills.json'

/**
 * The transports on which a prefix runs its skill, with further `match` keys: chats, verified mail
 * from `allowed-senders`, and verified webhooks whose sender waits for the result.
 */
const TRANSPORTS: Record<string, JsonObject> = {
  cli: {},
  slack: {},
  websocket: {},
  email: { 'data.allowed': true, automatic: false },
  webhook: { 'data.respond': 'result', verified: true },
}

const entry = z.strictObject({
  name: z.string().regex(SKILL_NAME, 'use lower-case letters, digits and dashes'),
  description: z.string().min(1).optional(),
  prefixes: z.array(z.string().trim().min(1)).min(1),
  /** Further prefixes, which stay in the text that the skill gets. */
  keep: z.array(z.string().trim().min(1)).default([]),
  /** The skill to run. If it is not set or does not exist, the help answers. */
  ref: z.string().min(1).optional(),
  approval: z.boolean().default(false),
  /** Only for verified senders; messages of others continue to the next route. */
  verified: z.boolean().default(false),
  /** Only if the message consists of the prefix alone. */
  alone: z.boolean().default(false),
})
const checkedEntry = entry.refine((one) => one.ref !== one.name, 'ref must name another skill')

/** The skill that answers if an entry has no usable `ref`. */
const HELP = 'assistant-help'

/**
 * An unusable entry. `name`: its name, or its position. `reason` begins with the line of the entry.
 */
type BrokenEntry = { name: string; reason: string }

/**
 * Reads `skills.json`. Each entry becomes a skill that passes the text after its prefix to the
 * skill `ref`, with routes for chats. An invalid entry does not affect the others. A missing file
 * counts as empty. Throws if the file is not a list.
 */
export async function loadPrefixSkills(path: string): Promise<{ skills: Skill[]; broken: BrokenEntry[] }> {
  const text = await readFile(path, 'utf8').catch(orNothing)
  const skills: Skill[] = []
  const broken: BrokenEntry[] = []
  const entries = text === undefined ? [] : parseSettings(z.array(z.unknown()), JSON.parse(text))
  for (const [at, one] of entries.entries()) {
    const given = pathGet(one, 'name')
    const name = typeof given === 'string' && given !== '' ? given : `entry ${at + 1}`
    try {
      const parsed = parseEntry(one)
      if (skills.some((other) => other.name === parsed.name)) throw new Error('another entry has this name')
      skills.push(createPrefixSkill(parsed))
    } catch (error) {
      broken.push({ name, reason: `line ${lineOf(text ?? '', at)}: ${reasonOf(error)}` })
    }
  }
  return { skills, broken }
}

/** Throws an Error with all problems of an entry in one line, each with its key. */
function parseEntry(given: unknown) {
  const checked = checkedEntry.safeParse(given)
  if (checked.success) return checked.data
  const problems = detailsOf(checked.error, given).map(({ path, message }) => {
    const text = problemText(path, message)
    if (!text.startsWith(UNKNOWN)) return text
    const near = nearest(path, Object.keys(entry.shape))
    const hint = near === undefined ? '' : `; did you mean "${near}"?`
    return `${text.replace(UNKNOWN, 'unknown key ')}${hint}`
  })
  throw new Error(problems.join('; '))
}

/** What `problemText` calls an unknown key. */
const UNKNOWN = 'unknown argument '

/** The line (from 1) of an element of a JSON list. */
function lineOf(text: string, index: number): number {
  const list = parseDocument(text).contents
  const item = isSeq(list) ? list.items[index] : undefined
  const offset = isNode(item) ? (item.range?.[0] ?? 0) : 0
  return text.slice(0, offset).split('\n').length
}

/** The entries of `skills.json`: their prefixes, with the skills that they run. */
export function prefixSkillsIn({ list, get }: Catalog) {
  return list()
    .filter(({ kind }) => kind === 'prefix')
    .map(({ name, description, path }) => {
      const { prefixes, ref, approval = false, verified = false } = get(name)?.metadata ?? {}
      return {
        name,
        description,
        ref: String(ref ?? HELP),
        path,
        approval: approval === true,
        verified: verified === true,
        prefixes: [prefixes ?? []].flat().map(String),
      }
    })
}

/**
 * The entries of `skills.json` that have a route. With `assistant: false`, those of the assistant
 * have none.
 */
export function routedPrefixSkills(catalog: Catalog, routes: readonly { skill?: string }[]) {
  const routed = new Set(routes.map(({ skill }) => skill))
  return prefixSkillsIn(catalog).filter(({ name }) => routed.has(name))
}

/**
 * The skill and arguments that a call leads to: if the name is an entry of `skills.json`, its `ref`
 * (which may be another entry) with the text after the prefix.
 */
export function followPrefixSkills(
  name: string,
  args: unknown,
  get: (name: string) => Pick<Skill, 'metadata'> | undefined,
): { name: string; args: unknown } {
  const seen = new Set<string>()
  let target = { name, args }
  while (!seen.has(target.name)) {
    seen.add(target.name)
    const { prefixes, keep, ref } = get(target.name)?.metadata ?? {}
    if (typeof ref !== 'string' || !Array.isArray(prefixes)) break
    const kept = new Set([keep ?? []].flat().map(String))
    const removed = prefixes.map(String).filter((prefix) => !kept.has(prefix))
    const text = withoutPrefix(String(pathGet(target.args, 'text') ?? ''), removed)
    target = { name: ref, args: { ...Object(target.args), text } }
  }
  return target
}

type Catalog = {
  list(): { name: string; description: string; kind: string; path?: string }[]
  get(name: string): Pick<Skill, 'metadata'> | undefined
}

function createPrefixSkill(one: z.infer<typeof entry>): Skill {
  const { name, keep, ref, approval, verified, alone } = one
  const prefixes = [...one.prefixes, ...keep]
  const match = {
    prefix: prefixes,
    ...(alone && { text: prefixes.map(wholeText) }),
    ...(verified && { verified }),
  }
  const routes: JsonObject = Object.fromEntries(
    Object.entries(TRANSPORTS).map(([transport, more]) => [transport, { route: { ...match, ...more } }]),
  )
  const commands = prefixes.map((prefix) => `"${prefix} …"`).join(' or ')
  const target = ref ?? 'the help, as it has no skill (`ref`)'
  return defineSkill({
    name,
    description: one.description ?? `${commands}: ${target}`,
    args: z.looseObject({ text: z.string().default('').describe('The message, with or without its prefix') }),
    metadata: {
      prefixes,
      ...(keep.length > 0 && { keep }),
      ref: ref ?? HELP,
      verified,
      ...routes,
      ...(approval ? { approval: true } : {}),
    },
    async run({ args, manager }) {
      if (ref === undefined) return manager.invoke(HELP, {})
      try {
        return await manager.invoke(ref, { ...args, text: withoutPrefix(args.text, one.prefixes) })
      } catch (error) {
        const isNotFound = error instanceof TriviumError && error.code === 'skill_not_found'
        // If the missing skill is another one, `ref` itself has failed.
        const isRefMissing = isNotFound && error.message.includes(` ${ref}.`)
        if (!isRefMissing) throw error
        return manager.invoke(HELP, {})
      }
    },
  })
}

/** A pattern for the prefix alone, possibly with punctuation after it. */
function wholeText(prefix: string): string {
  return `/^\\s*${RegExp.escape(prefix)}[\\s?!.]*$/i`
}

/** The text after its longest matching prefix. */
function withoutPrefix(text: string, prefixes: readonly string[]): string {
  const rests = prefixes.map((prefix) => text.replace(compilePrefix(prefix), ''))
  const [rest = text] = rests.sort((a, b) => a.length - b.length)
  return rest.replace(/^[\s:,]+/, '').trimEnd()
}
