import { parseDocument } from 'yaml'
import { z } from 'zod'
import { isJsonObject, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { nameSpec } from '../names.ts'
import { parseSettings } from '../onion.ts'

const frontMatter = z.looseObject({
  name: z.string().optional(),
  description: z.string({ error: 'a description is needed' }).min(1),
  'allowed-tools': nameSpec.optional(),
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

/** A prompt in pieces: what stands between its directives, and the directives. */
export type Prompt = readonly (
  | string
  | { directive: 'arg'; path: string }
  | { directive: 'session-history' }
)[]

/** What a prompt is cut at. A backslash before backticks or a colon makes them text. */
const TOKENS = [
  // Fenced code, also in a list or a quotation.
  /^[ \t>*+-]*(?:\d+[.)][ \t]+)?(?<fence>`{3,}|~{3,})[^`\n]*$(?:\n(?![ \t>]*\k<fence>[`~]*[ \t]*$).*)*(?:\n.*)?/,
  // Indented code: behind an empty line, and not what goes on in a list.
  /(?<=^[ \t]*\n)(?<!^ {0,3}(?:[-*+]|\d+[.)])[ \t].*\n(?:[ \t].*\n|\n)*)(?: {4}|\t).*(?:\n(?: {4}|\t).*)*/,
  // Inline code: up to as many backticks, within a paragraph.
  /(?<![`\\])(?<ticks>`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S])+?(?<!`)\k<ticks>(?!`)/,
  /(?<comment><!--(?:[\s\S]*?-->)?)/,
  // As in remark-directive: `:name[…]`, or on a line or item of its own with more colons; not `10:30`, `std::vector[0]`.
  /(?:(?<=^[ \t>*+-]*):{2,}|(?<![:\\]):)(?<name>[A-Za-z][\w-]*)\[(?<label>[^\]]*)\]/,
]
const TOKEN = new RegExp(TOKENS.map(({ source }) => source).join('|'), 'gm')

/**
 * Strips HTML comments from the body of a `SKILL.md`, and finds directives; code stays as it is. Another `:name[…]` is an
 * Error with its line; `bodyLine` is the line on which the body begins.
 */
export function compilePrompt(body: string, bodyLine = 1): Prompt {
  const pieces: Prompt[number][] = []
  let text = ''
  let from = 0
  for (const { 0: whole, index, groups = {} } of body.matchAll(TOKEN)) {
    const { comment, name, label = '' } = groups
    if (comment === undefined && name === undefined) continue
    const lineOf = () => bodyLine + body.slice(0, index).split('\n').length - 1
    text += body.slice(from, index)
    from = index + whole.length
    if (comment && !comment.endsWith('-->'))
      throw new Error(
        `line ${lineOf()}: a comment (<!--) is not closed; what is no comment goes between backticks`,
      )
    if (name === undefined) continue
    pieces.push(pieces.length === 0 ? text.trimStart() : text, readDirective(name, label, lineOf))
    text = ''
  }
  text += body.slice(from)
  pieces.push((pieces.length === 0 ? text.trimStart() : text).trimEnd())
  return pieces.filter((piece) => piece !== '')
}

function readDirective(name: string, label: string, lineOf: () => number): Prompt[number] {
  if (name === 'session-history') return { directive: 'session-history' }
  if (name !== 'arg') {
    throw new Error(
      `line ${lineOf()}: there is no directive :${name}[…] (known: :arg[name], :session-history[]); ` +
        'what is no directive goes between backticks',
    )
  }
  const path = label.trim()
  if (!/^[\w-]+(\.[\w-]+)*$/.test(path)) {
    throw new Error(`line ${lineOf()}: :arg[…] takes a name or a dotted path, not "${label}"`)
  }
  return { directive: 'arg', path }
}
