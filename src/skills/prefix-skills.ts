import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { type JsonObject, pathGet } from '../core/json.ts'
import { compilePrefix } from '../core/pattern.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import { orNothing } from '../lib/disk.ts'
import { SKILL_NAME } from './load-code.ts'
import { parseSettings } from './onion.ts'

/** The file in a skills folder that declares skills by the words that begin a message. */
export const PREFIX_FILE = 'skills.json'

/** Where a prefix is a command: on chats; in a mail from `allowed-senders`, proven; by webhook where proven, and somebody waits for the answer. */
const PLACES: Record<string, JsonObject> = {
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
  ref: z.string().min(1),
  approval: z.boolean().default(false),
  /** Only for senders of whom the transport has proof; what others write goes on to the next route. */
  verified: z.boolean().default(false),
  /** Only where the message is one of the prefixes, and nothing else. */
  alone: z.boolean().default(false),
})
const fileSchema = z.array(entry.refine((one) => one.ref !== one.name, 'ref must name another skill'))

/** Reads `skills.json`: each entry hands what follows its prefix to the skill `ref`, with a route on chats. `[]` where there is none. */
export async function loadPrefixSkills(path: string): Promise<Skill[]> {
  const text = await readFile(path, 'utf8').catch(orNothing)
  return text === undefined ? [] : parseSettings(fileSchema, JSON.parse(text)).map(createPrefixSkill)
}

/** The words by which messages reach skills, as their entries say. */
export function wordsOf({ list, get }: Catalog) {
  return list()
    .filter(({ kind }) => kind === 'prefix')
    .map(({ name, description, path }) => {
      const { prefixes, ref, approval = false, verified = false } = get(name)?.metadata ?? {}
      return {
        ...{
          name,
          description,
          ref: String(ref),
          path,
          approval: approval === true,
          verified: verified === true,
        },
        prefixes: [prefixes ?? []].flat().map(String),
      }
    })
}

/** The skill that a call of one leads to, and with what: itself, unless it is a word for another. */
export function meantBy(
  name: string,
  args: unknown,
  get: (name: string) => Pick<Skill, 'metadata'> | undefined,
): { name: string; args: unknown } {
  const seen = new Set<string>()
  let meant = { name, args }
  while (!seen.has(meant.name)) {
    seen.add(meant.name)
    const { prefixes, ref } = get(meant.name)?.metadata ?? {}
    if (typeof ref !== 'string' || !Array.isArray(prefixes)) break
    const text = withoutPrefix(String(pathGet(meant.args, 'text') ?? ''), prefixes.map(String))
    meant = { name: ref, args: { ...Object(meant.args), text } }
  }
  return meant
}

type Catalog = {
  list(): { name: string; description: string; kind: string; path?: string }[]
  get(name: string): Pick<Skill, 'metadata'> | undefined
}

function createPrefixSkill(one: z.infer<typeof entry>): Skill {
  const { name, prefixes, ref, approval, verified, alone } = one
  const words = {
    prefix: prefixes,
    ...(alone && { text: prefixes.map(wholeText) }),
    ...(verified && { verified }),
  }
  const routes: JsonObject = Object.fromEntries(
    Object.entries(PLACES).map(([transport, where]) => [transport, { route: { ...words, ...where } }]),
  )
  return defineSkill({
    name,
    description: one.description ?? `${prefixes.map((prefix) => `"${prefix} …"`).join(' or ')}: ${ref}`,
    args: z.looseObject({ text: z.string().default('').describe('The message, with or without its prefix') }),
    metadata: { prefixes, ref, verified, ...routes, ...(approval ? { approval: true } : {}) },
    run: ({ args, manager }) => manager.invoke(ref, { ...args, text: withoutPrefix(args.text, prefixes) }),
  })
}

/** Only this, with nothing but a mark behind it. */
function wholeText(prefix: string): string {
  return `/^\\s*${RegExp.escape(prefix)}[\\s?!.]*$/i`
}

/** What follows the longest prefix that the text begins with. */
function withoutPrefix(text: string, prefixes: readonly string[]): string {
  const rests = prefixes.map((prefix) => text.replace(compilePrefix(prefix), ''))
  const [rest = text] = rests.sort((a, b) => a.length - b.length)
  return rest.replace(/^[\s:,]+/, '').trimEnd()
}
