import { parseDocument } from 'yaml'
import { z } from 'zod'
import { isJsonObject, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { parseSettings } from '../onion.ts'

const frontMatter = z.looseObject({
  name: z.string().optional(),
  description: z.string({ error: 'a description is needed' }).min(1),
  'allowed-tools': z.union([z.string(), z.array(z.string())]).optional(),
  model: z.union([z.string(), jsonObjectSchema]).optional(),
  metadata: jsonObjectSchema.nullish(),
})

export type SkillFile = {
  name: string | undefined
  description: string
  /** `metadata`, with `allowed-tools` and `model` of the top level in it. */
  metadata: JsonObject
  body: string
  /** The line of the file on which the body begins, from 1. */
  bodyLine: number
}

/** Splits a `SKILL.md` into its YAML front matter and its prompt. Throws an Error with the line of what is wrong. */
export function parseSkillFile(text: string): SkillFile {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines[0]?.trimEnd() !== '---') throw new Error('line 1: it must begin with YAML front matter (---)')
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---')
  if (end < 0) throw new Error('line 1: the front matter is not closed with ---')
  const { name, description, metadata, ...known } = parseSettings(
    frontMatter,
    // An empty line in place of the first, so that errors name the lines of the file.
    parseYaml(`\n${lines.slice(1, end).join('\n')}`),
  )
  const { 'allowed-tools': allowed, model } = known
  return {
    name,
    description,
    metadata: { ...metadata, ...defined({ 'allowed-tools': allowed, model }) },
    body: lines.slice(end + 1).join('\n'),
    bodyLine: end + 2,
  }
}

function parseYaml(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) {
    const [message = ''] = error.message.split('\n')
    throw new Error(
      `line ${error.linePos?.[0].line ?? 1}: ${message.replace(/ at line \d+, column \d+:?$/, '')}`,
    )
  }
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  if (!isJsonObject(value)) throw new Error('line 2: the front matter must be a mapping')
  return value
}
