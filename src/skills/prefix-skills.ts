import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isJsonObject, type JsonObject, pathGet } from '../core/json.ts'
import type { Skill } from '../core/skill.ts'
import { isMissing } from '../lib/disk.ts'
import { SKILL_NAME } from './load-code.ts'

/** The file in a skills folder that declares skills by the words that begin a message. */
export const PREFIX_FILE = 'skills.json'

/** Transports on which people chat: there a prefix is a command. */
const CHATS = ['cli', 'slack', 'websocket']

const entry = z.strictObject({
  name: z.string().regex(SKILL_NAME, 'use lower-case letters, digits and dashes'),
  description: z.string().min(1).optional(),
  prefixes: z.array(z.string().trim().min(1)).min(1),
  ref: z.string().min(1),
  approval: z.boolean().default(false),
  /** Only for senders of whom the transport has proof; what others write goes on to the next route. */
  verified: z.boolean().default(false),
})
const fileSchema = z.array(entry.refine((one) => one.ref !== one.name, 'ref must name another skill'))

/**
 * Reads `skills.json`: `[{name, prefixes, ref, approval?, description?}]`. Each entry is a skill that hands
 * what follows its prefix to the skill `ref`, with a route on the chat transports. `[]` where there is no
 * file; throws an Error for one that cannot be read.
 */
export async function loadPrefixSkills(folder: string): Promise<Skill[]> {
  const text = await readFile(join(folder, PREFIX_FILE), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (text === undefined) return []
  const parsed = fileSchema.safeParse(JSON.parse(text))
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error).replaceAll('\n', ' '))
  return parsed.data.map(createPrefixSkill)
}

function createPrefixSkill(one: z.infer<typeof entry>): Skill {
  const { name, prefixes, ref, approval, verified } = one
  const route = { prefix: prefixes, ...(verified ? { verified } : {}) }
  const routes: JsonObject = Object.fromEntries(CHATS.map((transport) => [transport, { route }]))
  return {
    name,
    description: one.description ?? `${prefixes.map((prefix) => `"${prefix} …"`).join(' or ')}: ${ref}`,
    args: z.looseObject({ text: z.string().default('').describe('The message, with or without its prefix') }),
    metadata: { prefixes, ref, ...routes, ...(approval ? { approval: true } : {}) },
    run({ args, manager }) {
      const given = isJsonObject(args) ? args : {}
      const text = pathGet(args, 'text')
      return manager.invoke(ref, {
        ...given,
        text: withoutPrefix(typeof text === 'string' ? text : '', prefixes),
      })
    },
  }
}

/** What follows the longest prefix that the text begins with, where a word ends with it. */
function withoutPrefix(text: string, prefixes: readonly string[]): string {
  const trimmed = text.trim()
  const longestFirst = prefixes.toSorted((a, b) => b.length - a.length)
  for (const prefix of longestFirst) {
    if (trimmed.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) continue
    const rest = trimmed.slice(prefix.length)
    if (/^[\p{L}\p{N}_]/u.test(rest) && /[\p{L}\p{N}_]$/u.test(prefix)) continue
    return rest.replace(/^[\s:,]+/, '')
  }
  return trimmed
}
